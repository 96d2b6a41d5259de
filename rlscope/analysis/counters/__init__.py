"""This package assigns hardware counters to operations: it joins a device's samples with the recorded work."""
