"""This file tells memory that keeps growing from memory that goes up and down."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

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
