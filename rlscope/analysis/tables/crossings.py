"""The table of crossings: how often processes entered each function of another layer."""

from __future__ import annotations

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import TraceSweep


class CrossingRow(Row):
    """A function of another layer that a process called, on any thread.

    Attributes:
        process: The process.
        boundary: The function; of a wait it is without its channel.
        count: How often it was entered.
    """

    process: str
    boundary: str
    count: int


def crossing_rows(swept: TraceSweep) -> Rows[CrossingRow]:
    """Make one row per process and function, those entered most often first."""
    rows = [
        CrossingRow(process.name, boundary, count)
        for process in swept.processes
        for boundary, count in process.found.crossings.items()
    ]
    return Rows(CrossingRow, sorted(rows, key=lambda row: -row.count))
