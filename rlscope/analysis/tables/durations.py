"""The table of durations: how long operations take, and whether they take longer each time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import combinations

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.swept import SweptDuration

#: An operation grows where its last time is longer than its first by more than so much of its mean.
LEAST_GROWTH = 0.5
#: ... and of all pairs of times the later one is the longer one so often, as Kendall's tau: 0 is by chance, 1 always.
#: A single step up has 0.5, and a machine that becomes faster and slower meanwhile leaves even growth above 0.8.
LEAST_TAU = 0.7


class DurationRow(Row):
    """The durations of an operation, without what it had no core, by the line through them in their order.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: Its name.
        count: How often it ended.
        mean_s: Its mean duration, with what waits are in it.
        first_s: By the line, the duration of the first time.
        last_s: By the line, that of the last one.
        shortest_s: The mean of the part of them, one after the other, with the shortest.
        longest_s: That of the part with the longest.
        slope_s: How much longer each time takes than the one before it.
        slope_low_s: The lower end of its interval, of 95 %.
        slope_high_s: The upper end.
        grows: Whether that excludes zero, the last time is longer than the first by more than half of the mean, and
            Kendall's tau of the durations and their order is 0.7 at least.
    """

    process: str
    stage: str
    operation: str
    count: int
    mean_s: float
    first_s: float
    last_s: float
    shortest_s: float
    longest_s: float
    slope_s: float
    slope_low_s: float
    slope_high_s: float
    grows: bool


def duration_rows(swept: TraceSweep) -> Rows[DurationRow]:
    """Make the rows of `Analysis.durations`: of each process the operations with most time first."""
    return Rows(DurationRow, (row for process in swept.processes for row in _of_process(process)))


def _of_process(process: ProcessSweep) -> Iterable[DurationRow]:
    longest: dict[tuple[str, str], tuple[SweptDuration, array[int]]] = {}
    sums = [(row, array("Q", row.sums)) for row in process.found.durations]
    for row, ticks in sorted(sums, key=lambda each: -sum(each[1])):
        # Of an operation that was in other ones for different purposes, the one with most time.
        longest.setdefault((row.stage, row.operation), (row, ticks))
    return [_row(process, row, ticks) for row, ticks in longest.values()]


def _row(process: ProcessSweep, row: SweptDuration, sums: Sequence[int]) -> DurationRow:
    """Fit a line by least squares through the mean durations of bins: y = a + b x, where x is the number of the bin."""
    whole = row.ends // row.width
    means = [ticks / row.width * process.seconds_per_tick for ticks in sums[:whole]]
    mean, middle = sum(means) / whole, (whole - 1) / 2
    spread = whole * (whole * whole - 1) / 12  # the sum of squares of x around its mean
    slope = sum((number - middle) * each for number, each in enumerate(means)) / spread
    left = sum((each - mean - slope * (number - middle)) ** 2 for number, each in enumerate(means))
    error = _t95(whole - 2) * (left / (whole - 2) / spread) ** 0.5
    first, last = max(mean - slope * middle, 0.0), mean + slope * middle
    slopes = (slope / row.width, (slope - error) / row.width, (slope + error) / row.width)
    return DurationRow(
        process.name, row.stage, row.operation, row.ends, sum(sums) / row.ends * process.seconds_per_tick, first,
        max(last, 0.0), min(means), max(means), *slopes,
        slope > error and last - first > LEAST_GROWTH * mean and _tau(means) >= LEAST_TAU,
    )  # fmt: skip


def _tau(means: Sequence[float]) -> float:
    """Return Kendall's tau of durations and their order: a few that waited say nothing of the others."""
    pairs = [(after > before) - (after < before) for before, after in combinations(means, 2)]
    return sum(pairs) / len(pairs)


def _t95(freedom: int) -> float:
    """Return Student's t, two-sided 95 %, by its expansion in 1 / freedom (Abramowitz and Stegun, 26.7.5)."""
    x = 1.959964
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
    )
    found: float = x + sum(term / freedom ** (place + 1) for place, term in enumerate(terms))
    return found
