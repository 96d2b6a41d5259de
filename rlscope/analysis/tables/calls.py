"""The tables of calls and of iterations, of a trace swept in detail, and those of operations and of tasks."""

from array import array
from collections import Counter

from rlscope.analysis.detail.swept import SweptDetail
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.table_rows import CallRow, CpuTimeRow, IterationRow, TaskRow
from rlscope.model import NS_PER_S


def detail_of(process: ProcessSweep) -> SweptDetail:
    """Return what the sweep found besides, as it must have been asked to."""
    assert process.found.detail is not None
    return process.found.detail


def call_rows(swept: TraceSweep) -> Rows[CallRow]:
    """Make the rows of `Analysis.calls`: of each process those with most time first."""
    return Rows(CallRow, (row for process in swept.processes for row in _calls_of(process)))


def _calls_of(process: ProcessSweep) -> list[CallRow]:
    ticks: Counter[tuple[str, str, str, str]] = Counter()
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for row in detail_of(process).functions:
        key = row.stage, row.operation, row.category, row.function
        ticks[key] += row.ticks
        counts[key] += row.calls
    keys = sorted((key for key in ticks if ticks[key] or counts[key]), key=lambda key: (-ticks[key], key))
    lengths = process.file.clock.partition_ns(process.found.start_ticks, (ticks[key] for key in keys))
    return [CallRow(process.name, *key, counts[key], ns / NS_PER_S) for key, ns in zip(keys, lengths, strict=True)]


def iteration_rows(swept: TraceSweep) -> Rows[IterationRow]:
    """Make the rows of `Analysis.iteration_times`, by process and start."""
    origin_ns = min(process.start_ns for process in swept.processes)
    rows = []
    for process in swept.processes:
        detail, time_ns = detail_of(process), process.file.clock.realtime_ns
        borders = zip(array("Q", detail.iteration_starts), array("Q", detail.iteration_ends), strict=True)
        for number, (start_ticks, end_ticks) in enumerate(borders):
            start_ns = time_ns(start_ticks)
            length_ns = time_ns(end_ticks) - start_ns
            rows.append(IterationRow(process.name, number, (start_ns - origin_ns) / NS_PER_S, length_ns / NS_PER_S))
    return Rows(IterationRow, rows)


def cpu_time_rows(swept: TraceSweep) -> Rows[CpuTimeRow]:
    """Make one row per process, phase and operation in which the processor time of threads was read."""
    return Rows(
        CpuTimeRow,
        (
            CpuTimeRow(
                process.name,
                *(row.phase, row.stage, row.operation, row.begins),
                process.length_ns(row.ticks) / NS_PER_S,
                row.cpu_ns / NS_PER_S,
            )
            for process in swept.processes
            for row in process.found.cpu_times
        ),
    )


def task_rows(swept: TraceSweep) -> Rows[TaskRow]:
    """Make one row per process and operation that was open in a suspended coroutine or generator."""
    rows = []
    for process in swept.processes:
        for row in process.found.tasks:
            ticks = (row.running_ticks, row.elapsed_ticks, row.median_ticks, row.p99_ticks, row.longest_ticks)
            times = (process.length_ns(each) / NS_PER_S for each in ticks)
            rows.append(TaskRow(process.name, row.operation, row.ended, *times))
    return Rows(TaskRow, rows)
