"""The tables of lines of Python: which had the time of processes, made their native calls, and waited for devices."""

from __future__ import annotations

import re

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.model import NS_PER_S

#: Where packages and the standard library lie, and what of a path follows it.
_PACKAGE = re.compile(r"(?:^|.*/)(?:(?:site|dist)-packages|lib(?:64)?/python3\.\d+)/(.+)")


class LineRow(Row):
    """A line of Python that had time of a process, from stacks that were looked at a thousand times a second.

    Of a process and operation the seconds, as recorded, sum to those of category python in the breakdown, and of
    no_core in Python while no device works. A row with function "" has what is left after the last stack that was seen
    there.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: The operation that was innermost.
        function: The qualified name.
        file: Where it is, from the package on.
        line: The line, 0 if it is not known.
        stacks: How many stacks were seen there.
        seconds: The process's time there.
    """

    process: str
    stage: str
    operation: str
    function: str
    file: str
    line: int
    stacks: int
    seconds: float


class SyncPointRow(Row):
    """A place where a thread waited for a device: a CUDA call that waits, in the native function that made it.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: The operation that was innermost.
        function: The native function that was called, such as `torch.item`; "" if the call was made in none.
        wait: The CUDA call in it.
        count: How often.
        per_iteration: How often in each iteration of the run; None without progress.
        seconds: How long these took on their threads, summed.
        caller: The Python function that most of those made in which a stack was seen; "" if none was.
        file: Where it is, from the package on.
        line: The line, 0 if it is not known.
        line_stacks: How many of the stacks are of this line.
        stacks: How many were seen.
    """

    process: str
    stage: str
    operation: str
    function: str
    wait: str
    count: int
    per_iteration: float | None
    seconds: float
    caller: str
    file: str
    line: int
    line_stacks: int
    stacks: int


class CallSiteRow(Row):
    """A line of Python that called a native function, from stacks that were seen in its calls.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: The operation that was innermost.
        category: The layer of the native function.
        function: The native function.
        caller: The qualified name of the Python function.
        file: Where it is, from the package on.
        line: The line, 0 if it is not known.
        stacks: How many were seen in its calls, one in each.
        waiting_stacks: How many of these calls waited for a device.
        calls_percent: Its part of the operation's calls of the function, estimated from these.
        time_percent: Its part of their time, the same.
        seconds: How long its calls took, estimated: where stacks changed while they were read, less than they did.
    """

    process: str
    stage: str
    operation: str
    category: str
    function: str
    caller: str
    file: str
    line: int
    stacks: int
    waiting_stacks: int
    calls_percent: float
    time_percent: float
    seconds: float


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


def short_path(path: str) -> str:
    """Return a file's path from its package on; of one that is in none the whole path.

    `/usr/lib/python3.11/site-packages/torch/optim/adam.py` is `torch/optim/adam.py`.
    """
    found = _PACKAGE.fullmatch(path)
    return found[1] if found else path


def is_packaged(path: str) -> bool:
    """Return whether a file lies in a package that was installed or in the standard library."""
    return _PACKAGE.fullmatch(path) is not None
