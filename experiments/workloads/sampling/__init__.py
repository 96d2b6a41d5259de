"""This package holds ways to sample from many environments at once, for the workload `sample.py`."""
