"""This file has what studies make of repetitions, beside the estimates with intervals that `rlscope compare` makes."""

import math
from collections.abc import Sequence
from dataclasses import replace

from rlscope.compare.estimate import (
    CONFIDENCE_PERCENT,
    COUNTS,
    EVENTS,
    FEWEST,
    ITERATIONS,
    RUNS,
    TIMINGS,
    Estimate,
    Key,
    estimated,
)

__all__ = [
    "CONFIDENCE_PERCENT", "COUNTS", "EVENTS", "FEWEST", "ITERATIONS", "RUNS", "TIMINGS", "Estimate", "Key", "count_of",
    "estimated", "estimated_mean", "exact", "widened",
]  # fmt: skip


def estimated_mean(values: Sequence[float], unit: str = RUNS) -> Estimate:
    """Return the mean of the repetitions, with its interval."""
    return estimated({"mean": values}, lambda means: means["mean"], unit)


def widened(estimate: Estimate, one_end: float, other_end: float) -> Estimate:
    """Return an estimate whose interval also holds an error that all repetitions share; both are summed in squares.

    Args:
        estimate: from how far the repetitions scatter.
        one_end: the value if the shared error is as large as it may be in one direction.
        other_end: the same in the other direction.
    """
    if estimate.low is None or estimate.high is None:
        return estimate
    value = estimate.value
    below = math.hypot(value - estimate.low, max(0.0, value - min(one_end, other_end)))
    above = math.hypot(estimate.high - value, max(0.0, max(one_end, other_end) - value))
    return replace(estimate, low=value - below, high=value + above)


def count_of(number: int) -> Estimate:
    """Return what was counted and does not scatter, such as files: once is enough."""
    return Estimate(number, number, number, 1, COUNTS)


def exact(value: float) -> Estimate:
    """Return what is calculated, and the same each time."""
    return Estimate(value, value, value, repetitions=0)
