"""This file computes which lines of Python had the time of processes, and which made their native calls."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rlscope.analysis.lines.rows import CallSiteRow, LineRow, SyncPointRow
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.model import NS_PER_S
from rlscope.text import encodable

#: Where packages and the standard library lie, and what of a path follows it.
_PACKAGE = re.compile(r"(?:^|.*/)(?:(?:site|dist)-packages|lib(?:64)?/python3\.\d+)/(.+)")


class LineTables(NamedTuple):
    """The tables of lines, as `Analysis` has them."""

    lines: Rows[LineRow]
    sync_points: Rows[SyncPointRow]
    call_sites: Rows[CallSiteRow]
    torn_stacks: int


def line_tables(swept: TraceSweep, iterations: int | None) -> LineTables:
    """Make all tables of lines of a run that reported so many iterations."""
    torn_stacks = sum(process.found.torn_stacks for process in swept.processes)
    return LineTables(line_rows(swept), sync_point_rows(swept, iterations), call_site_rows(swept), torn_stacks)


def line_rows(swept: TraceSweep) -> Rows[LineRow]:
    """Make the rows of `Analysis.lines`: of each process those with most time first."""
    return Rows(LineRow, (row for process in swept.processes for row in _lines_of(process)))


def _lines_of(process: ProcessSweep) -> list[LineRow]:
    found = process.found.lines
    lengths = process.file.clock.partition_ns(process.found.start_ticks, (row.ticks for row in found))
    return [
        LineRow(process.name, *row[:3], short_path(row.file), row.line, row.stacks, ns / NS_PER_S)
        for row, ns in zip(found, lengths, strict=True)
    ]


def sync_point_rows(swept: TraceSweep, iterations: int | None) -> Rows[SyncPointRow]:
    """Make the rows of `Analysis.sync_points`: of each process those that took longest first."""
    return Rows(
        SyncPointRow,
        (
            SyncPointRow(
                process.name, row.stage, row.operation, row.function, row.wait, row.calls,
                row.calls / iterations if iterations else None, process.length_ns(row.ticks) / NS_PER_S,
                row.caller, short_path(row.file), row.line, row.line_stacks, row.stacks,
            )
            for process in swept.processes
            for row in process.found.sync_points
        ),
    )  # fmt: skip


def call_site_rows(swept: TraceSweep) -> Rows[CallSiteRow]:
    """Make the rows of `Analysis.call_sites`: of each function in an operation the lines with most calls first."""
    return Rows(
        CallSiteRow,
        (
            CallSiteRow(
                process.name, row.stage, row.operation, row.category, row.function, row.caller, short_path(row.file),
                row.line, row.stacks, row.waiting_stacks, 100 * row.share_of_calls, 100 * row.share_of_ticks,
                row.ticks * process.seconds_per_tick,
            )
            for process in swept.processes
            for row in process.found.call_sites
        ),
    )  # fmt: skip


def without_stacks(swept: TraceSweep) -> Iterator[str]:
    """Say of which processes stacks were not looked at to the end, and why."""
    for process in swept.processes:
        reason, until = (process.found.properties.get(name) for name in ("without_stacks", "stacks_until"))
        if isinstance(reason, str):
            yield f"{process.name}: stacks of Python were not looked at: {encodable(reason)}"
        if isinstance(until, str):
            yield (
                f"{process.name}: stacks of Python were not looked at any more when the program asked for "
                f"{encodable(until)}, which a process of one thread alone may call"
            )


def short_path(path: str) -> str:
    """Return a file's path from its package on; of one that is in none the whole path.

    `/usr/lib/python3.11/site-packages/torch/optim/adam.py` is `torch/optim/adam.py`.
    """
    found = _PACKAGE.fullmatch(path)
    return found[1] if found else path


def is_packaged(path: str) -> bool:
    """Return whether a file lies in a package that was installed or in the standard library."""
    return _PACKAGE.fullmatch(path) is not None
