"""The table of durations: how long operations take, and whether they take longer each time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.swept import SweptDuration

#: Of fewer no growth is told.
LEAST_COUNT = 20
#: An operation grows where its last time is longer than its first by more than so much of its mean.
LEAST_GROWTH = 0.5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DurationRow(Row):
    """How long an operation took, each time that it ended, by the line through its durations in their order.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: Its name.
        count: How often it ended.
        mean_s: Its mean duration, with what waits and lacks of cores are in it.
        first_s: By the line, the duration of the first time.
        last_s: By the line, that of the last one.
        slope_s: How much longer each time takes than the one before it.
        slope_low_s: The lower end of its interval, of 95 %.
        slope_high_s: The upper end.
        grows: Whether that excludes zero, and the last time is longer than the first by more than half of the mean.
    """

    process: str
    stage: str
    operation: str
    count: int
    mean_s: float
    first_s: float
    last_s: float
    slope_s: float
    slope_low_s: float
    slope_high_s: float
    grows: bool


def duration_rows(swept: TraceSweep) -> Rows[DurationRow]:
    """Make the rows of `Analysis.durations`: of each process the operations with most time first."""
    return Rows(DurationRow, (row for process in swept.processes for row in _of_process(process)))


def _of_process(process: ProcessSweep) -> Iterable[DurationRow]:
    longest: dict[tuple[str, str], SweptDuration] = {}
    for row in sorted(process.found.durations, key=lambda row: -row.ticks):
        # Of an operation that was in other ones for different purposes, the one with most time.
        longest.setdefault((row.stage, row.operation), row)
    return [_row(process, row) for row in longest.values()]


def _row(process: ProcessSweep, row: SweptDuration) -> DurationRow:
    """Fit a line by least squares: y = a + b x, where x is the number of the time, from 0."""
    n, scale = row.count, process.seconds_per_tick
    mean, middle = row.ticks / n, (n - 1) / 2
    spread = n * (n * n - 1) / 12  # the sum of squares of x around its mean
    slope = (row.weighted_ticks - middle * row.ticks) / spread
    left = max(row.squared_ticks - n * mean * mean - slope * slope * spread, 0.0)
    error = _t95(n - 2) * (left / (n - 2) / spread) ** 0.5
    first, last = mean - slope * middle, mean + slope * middle
    return DurationRow(
        process.name, row.stage, row.operation, n, mean * scale, max(first, 0.0) * scale, max(last, 0.0) * scale,
        slope * scale, (slope - error) * scale, (slope + error) * scale,
        n >= LEAST_COUNT and slope > error and last - first > LEAST_GROWTH * mean,
    )  # fmt: skip


def _t95(freedom: int) -> float:
    """Return Student's t, two-sided 95 %, by its expansion in 1 / freedom (Abramowitz and Stegun, 26.7.5)."""
    x = 1.959964
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
    )
    return x + sum(term / freedom ** (place + 1) for place, term in enumerate(terms))
