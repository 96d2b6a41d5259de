"""Averages, as `statistics` has them, whose import takes longer than most of an analysis."""

import math
from collections.abc import Iterable


def mean(values: Iterable[float]) -> float:
    """Return the mean of at least one value."""
    known = [*values]
    return math.fsum(known) / len(known)


def median(values: Iterable[float]) -> float:
    """Return the median of at least one value; between two of them their mean."""
    known = sorted(values)
    half = len(known) // 2
    return known[half] if len(known) % 2 else (known[half - 1] + known[half]) / 2
