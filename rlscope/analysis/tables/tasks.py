"""This file computes how long the operations of coroutines and generators took, waiting included."""

from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.table_rows import TaskRow
from rlscope.model import NS_PER_S


def task_rows(swept: TraceSweep) -> Rows[TaskRow]:
    """Make one row per process and operation that was open in a suspended coroutine or generator."""
    rows = []
    for process in swept.processes:
        for row in process.found.tasks:
            ticks = (row.running_ticks, row.elapsed_ticks, row.median_ticks, row.p99_ticks, row.longest_ticks)
            times = (process.length_ns(each) / NS_PER_S for each in ticks)
            rows.append(TaskRow(process.name, row.operation, row.ended, *times))
    return Rows(TaskRow, rows)
