"""The files of a trace: the only Python code that knows bytes."""
