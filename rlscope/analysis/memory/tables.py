"""The tables of memory: how much processes used, and whether it keeps growing or goes up and down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rlscope.analysis.memory.swept import SweptMemorySeries
from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.trace.format import MemoryOwner

OWNERS = {MemoryOwner.HOST: "host", MemoryOwner.PYTORCH: "PyTorch", MemoryOwner.JAX: "JAX"}
MOST_PARTS = 10
#: Samples in each part, so that its lowest one is not at the top of an iteration by chance.
LEAST_IN_PART = 2
#: By the number of steps between parts: so many of them, or more, go up in at most 2 % of runs whose use goes up and
#: down by chance.
LEAST_STEPS_UP = {6: 6, 7: 7, 8: 8, 9: 8}
LEAST_SAMPLES = (min(LEAST_STEPS_UP) + 1) * LEAST_IN_PART * 3 // 2
#: What grows by less, or by a smaller part of what there is, is no trouble in a run that long.
LEAST_GROWTH_BYTES, LEAST_GROWTH_PART = 1 << 20, 0.01
#: Student's t, two-sided 95 %, by the number of steps: it has one degree of freedom less.
_T95 = {6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306}


class MemoryRow(Row):
    """The most memory that a process was seen to use in an operation.

    It is looked at ten times a second, and at the end of an operation in which it was not.

    Attributes:
        process: The process.
        owner: What has it: `host` (the process, resident), or the library whose allocator gave it out of a device's.
        device: CUDA's number of the device in the process; None of the host.
        stage: The stage of the operation.
        operation: The operation that was innermost.
        samples: How often it was looked at there.
        highest_bytes: The most that was in use then, or since the look before if the peak rose in the operation.
    """

    process: str
    owner: str
    device: int | None
    stage: str
    operation: str
    samples: int
    highest_bytes: int


class MemoryGrowthRow(Row):
    """This says how the memory of a process went over time.

    Of its samples since the training loop began, the first third is left out, as warming up. The others are ten parts,
    or seven to nine in a loop of 2 to 3 s, and each one's lowest use is what it kept. The growth and its interval of
    95 % are from the steps between them.

    Attributes:
        process: The process.
        owner: As in `memory`.
        device: As in `memory`.
        samples: How many there are.
        first_bytes: What was in use at the first one.
        last_bytes: And at the last one.
        peak_bytes: The most that ever were, also between samples, as the system or the allocator knows.
        bytes_per_s: The growth; None with fewer than 21 samples in the loop.
        low_bytes_per_s: The lower end of its interval.
        high_bytes_per_s: The upper one.
        bytes_per_iteration: The growth in an iteration; None if the parts have none.
        grows: Whether eight of nine steps went up, or all of fewer, a MiB and a hundredth of it altogether, and the
            interval is above 0.
    """

    process: str
    owner: str
    device: int | None
    samples: int
    first_bytes: int
    last_bytes: int
    peak_bytes: int
    bytes_per_s: float | None
    low_bytes_per_s: float | None
    high_bytes_per_s: float | None
    bytes_per_iteration: float | None
    grows: bool


@dataclass(frozen=True)
class Growth:
    """This says how memory grew over the last two thirds of a loop: the mean of steps between its parts, and 95 %."""

    bytes_per_s: float
    low_bytes_per_s: float
    high_bytes_per_s: float
    bytes_per_iteration: float | None
    grows: bool


def growth_of(points: Sequence[tuple[float, int, int]]) -> Growth | None:
    """Find the growth of memory; None if there are too few samples.

    Args:
        points: Of each sample the time in seconds, the bytes in use, and the number of iterations that had ended.
    """
    if len(points) < LEAST_SAMPLES:
        return None
    from statistics import fmean, stdev  # which most traces do not need, and which take long to import

    kept = points[len(points) // 3 :]
    parts = min(len(kept) // LEAST_IN_PART, MOST_PARTS)
    borders = [len(kept) * part // parts for part in range(parts + 1)]
    lowest = [min(kept[start:end], key=lambda point: point[1]) for start, end in pairwise(borders)]
    steps = [after[1] - before[1] for before, after in pairwise(lowest)]
    (first_s, first_bytes, first_reports), (last_s, last_bytes, last_reports) = lowest[0], lowest[-1]
    if last_s <= first_s:
        return None
    step_s = (last_s - first_s) / len(steps)
    error = _T95[len(steps)] * stdev(steps) / len(steps) ** 0.5
    iterations = last_reports - first_reports
    grown = last_bytes - first_bytes
    low = fmean(steps) - error
    goes_up = sum(step > 0 for step in steps) >= LEAST_STEPS_UP[len(steps)] and low > 0
    return Growth(
        fmean(steps) / step_s,
        low / step_s,
        (fmean(steps) + error) / step_s,
        grown / iterations if iterations else None,
        goes_up and grown >= max(LEAST_GROWTH_BYTES, LEAST_GROWTH_PART * last_bytes),
    )


def memory_rows(swept: TraceSweep) -> Rows[MemoryRow]:
    """Make the rows of `Analysis.memory`: of each process by owner and device."""
    return Rows(
        MemoryRow,
        (
            MemoryRow(
                process.name, *_place(row.owner, row.device), row.stage, row.operation, row.samples, row.highest_bytes
            )
            for process in swept.processes
            for row in process.found.memory
        ),
    )


def memory_growth_rows(swept: TraceSweep) -> Rows[MemoryGrowthRow]:
    """Make the rows of `Analysis.memory_growth`: of each process by owner and device."""
    return Rows(
        MemoryGrowthRow,
        (_growth(process, series) for process in swept.processes for series in process.found.memory_series),
    )


def _growth(process: ProcessSweep, series: SweptMemorySeries) -> MemoryGrowthRow:
    points = [(ticks * process.seconds_per_tick, used, reports) for ticks, used, reports in series.points()]
    loop = process.found.loop
    begin_s, end_s = (math.inf, 0.0) if loop is None else (ticks * process.seconds_per_tick for ticks in loop[:2])
    growth = growth_of([point for point in points if begin_s <= point[0] <= end_s])
    of_process = (process.name, *_place(series.owner, series.device))
    ends = len(points), points[0][1], points[-1][1], series.peak_bytes
    if growth is None:
        return MemoryGrowthRow(*of_process, *ends, None, None, None, None, grows=False)
    return MemoryGrowthRow(
        *of_process, *ends, growth.bytes_per_s, growth.low_bytes_per_s, growth.high_bytes_per_s,
        growth.bytes_per_iteration, growth.grows,
    )  # fmt: skip


def _place(owner: int, device: int) -> tuple[str, int | None]:
    return OWNERS[MemoryOwner(owner)], None if owner == MemoryOwner.HOST else device
