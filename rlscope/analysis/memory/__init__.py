"""This package tells how much memory processes used, in the host and on devices, and whether it grew."""
