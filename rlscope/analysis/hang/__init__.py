"""This package finds where each thread of a run stands and for whom it waits, so that a hang has a cause."""
