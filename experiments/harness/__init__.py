"""This package says what all studies share to get runs done: the matrix of runs, one run, all runs, and where their
results come from.
"""
