"""This package reads and writes the files of a trace: it is the only Python code that knows bytes."""
