"""This package makes tables of traces, in pure functions and without figures."""
