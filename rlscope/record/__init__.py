"""This package runs inside the measured process, so it uses the standard library and rlscope._native only."""
