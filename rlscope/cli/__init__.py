"""This package is the command line, one file per verb."""
