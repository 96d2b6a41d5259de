"""Robots with contact: one CUDA kernel beside the same robots on XLA, and how near it is to the device's limits."""
