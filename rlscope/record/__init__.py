"""What runs inside the measured process: standard library and rlscope._native only."""
