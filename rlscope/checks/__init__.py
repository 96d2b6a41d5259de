"""This package checks this machine: whether it can record, its GPUs too, and what to do where it cannot."""
