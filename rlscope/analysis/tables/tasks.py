"""How long the operations of coroutines and generators took, waiting included."""

import pandas as pd

from rlscope.analysis.sweep import NS_PER_S, TraceSweep

TASK_COLUMNS = (
    "process", "operation", "count", "running_s", "elapsed_s", "elapsed_p50_s", "elapsed_p99_s", "elapsed_max_s",
)  # fmt: skip


def tasks_table(swept: TraceSweep) -> pd.DataFrame:
    """One row per process and operation that was open in a suspended coroutine or generator."""
    rows = [
        (process.name, operation, count, *(process.length_ns(ticks) / NS_PER_S for ticks in times))
        for process in swept.processes
        for operation, count, *times in process.found["tasks"]
    ]
    return pd.DataFrame(rows, columns=list(TASK_COLUMNS)).astype(dict.fromkeys(TASK_COLUMNS[3:], float))


def misnested_operations(swept: TraceSweep) -> int:
    """How many operations were closed by the end of another one."""
    return sum(process.found["misnested_operations"] for process in swept.processes)
