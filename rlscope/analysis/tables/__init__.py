"""This package makes the tables of an analysis, one file for those that belong together."""
