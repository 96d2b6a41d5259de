"""This package measures what recording costs, beside other profilers."""
