"""This file makes a value of repetitions, with an interval that holds the truth as often as it says."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import TypeVar

from scipy import stats

CONFIDENCE_PERCENT = 95
#: With fewer repetitions there is no interval: two values say next to nothing about how far values scatter.
FEWEST = 3
#: What repetitions may be.
RUNS, ITERATIONS, TIMINGS, EVENTS, COUNTS = "runs", "iterations", "timings", "events", "counts"

#: What names a group: a text, or a tuple of what tells it from others.
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Estimate:
    """A value over repetitions.

    Attributes:
        value: the metric of all repetitions.
        low: lower end of its 95 % interval; None where there is no interval.
        high: upper end, likewise.
        repetitions: the smallest number of repetitions that a group has; 0 of what was calculated, not measured.
        unit: what was repeated: RUNS, say.
    """

    value: float
    low: float | None
    high: float | None
    repetitions: int
    unit: str = RUNS

    @property
    def is_calculated(self) -> bool:
        """Return whether it follows from other numbers, so that nothing was measured."""
        return self.repetitions == 0

    @property
    def has_interval(self) -> bool:
        """Return whether there were repetitions enough for one."""
        return self.low is not None

    def columns(self, name: str) -> dict[str, float]:
        """Return columns for tables: the value under this name, the ends of its interval beside it; NaN for none."""
        low, high = (math.nan if end is None else end for end in (self.low, self.high))
        return {name: self.value, f"{name}_low": low, f"{name}_high": high}

    @property
    def counted(self) -> str:
        """Return how many repetitions of what, for people: "n=3 runs"."""
        return f"n={self.repetitions} {self.unit if self.repetitions != 1 else self.unit.removesuffix('s')}"


@dataclass(frozen=True)
class Group:
    """The repetitions of one group: their mean, its standard error, and whether all are zero or more."""

    mean: float
    error: float
    degrees: int
    is_positive: bool

    def moved(self, errors: float) -> float:
        """Return the mean, moved by standard errors; by a factor where it is positive, so that it stays so."""
        if self.is_positive:
            return self.mean * math.exp(errors * self.error / self.mean)
        return self.mean + errors * self.error


def group_of(values: Sequence[float]) -> Group:
    """Return the group that at least two values make."""
    mean = fmean(values)
    return Group(mean, stdev(values) / math.sqrt(len(values)), len(values) - 1, min(values) >= 0 < mean)


def estimated(
    groups: Mapping[Key, Sequence[float]], metric: Callable[[Mapping[Key, float]], float], unit: str = RUNS
) -> Estimate:
    """Estimate a metric of the groups' means.

    The interval is a t-interval with Welch's and Satterthwaite's degrees of freedom. How far an error of a group's mean
    carries is found by moving that mean to the ends of its own interval. So it is also right for the smallest of
    several means: one that is not the smallest counts if it could be.

    Args:
        groups: for each group (an algorithm, say) one number per repetition.
        metric: from the mean of each group to the value.
        unit: what the repetitions are.

    Returns:
        The metric of the means; without an interval if a group that matters has fewer repetitions than FEWEST. One does
        not matter if the metric would be the same with half its mean and with twice: the slower of many, say.
    """
    means = {name: fmean(values) for name, values in groups.items()}
    value = metric(means)

    def matters(name: Key) -> bool:
        mean = means[name]
        return mean == 0 or any(metric({**means, name: factor * mean}) != value for factor in (0.5, 2.0))

    mattering = {name: values for name, values in groups.items() if len(values) >= FEWEST or matters(name)} or groups
    fewest = min(len(values) for values in mattering.values())
    if fewest < FEWEST:
        return Estimate(value, None, None, fewest, unit)
    of_groups = {name: group_of(values) for name, values in mattering.items()}

    def variances(errors: float) -> list[float]:
        """Return, by group, the square of what the metric changes by if the group's mean is off by that many errors."""
        return [
            max((metric({**means, name: group.moved(sign * errors)}) - value) ** 2 for sign in (-1, 1))
            if group.error
            else 0.0
            for name, group in of_groups.items()
        ]

    of_one_error = variances(1.0)
    per_degree = sum(part**2 / group.degrees for part, group in zip(of_one_error, of_groups.values(), strict=True))
    degrees = sum(of_one_error) ** 2 / per_degree if per_degree else fewest - 1
    half = math.sqrt(sum(variances(float(stats.t.ppf((1 + CONFIDENCE_PERCENT / 100) / 2, degrees)))))
    return Estimate(value, value - half, value + half, fewest, unit)


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
