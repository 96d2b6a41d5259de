"""This file names the file of a trace that holds what the machine reported, and its columns. Standard library only."""

UTILIZATION_NAME = "utilization.csv"
#: A row holds what was reported of the source since the row before of the same source.
HEADER = "monotonic_ns,source,utilization,memory_bytes"
#: The source of the rows of the command with all processes that it started; of the others, a device's uuid.
PROCESSES = "processes"
