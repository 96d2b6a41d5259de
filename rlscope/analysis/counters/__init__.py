"""Hardware counters by operation: samples of a device joined with the work that was recorded."""
