"""All processes of a run share the directory of its trace, and the clock by which each of them is placed."""
