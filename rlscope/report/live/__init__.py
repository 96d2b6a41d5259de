"""This package shows the last seconds of a run in a terminal, and lets keys choose what is shown."""
