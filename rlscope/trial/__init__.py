"""This package runs a training with one change at a time, made from outside, and measures what each one brings."""
