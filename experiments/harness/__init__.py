"""This package gets the runs of all studies done: the matrix of runs, one run, all runs, and the origin of results."""
