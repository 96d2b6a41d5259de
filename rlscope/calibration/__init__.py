"""Measuring what recording costs on a machine, and keeping it."""
