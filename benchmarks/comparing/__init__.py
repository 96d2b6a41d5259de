"""This package measures how often `rlscope compare` is right, on recorded runs whose difference is known."""
