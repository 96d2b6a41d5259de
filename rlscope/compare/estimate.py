"""This file makes a value of repetitions, with an interval that holds the truth as often as it says."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeVar

from scipy.special import stdtrit

CONFIDENCE_PERCENT = 95
#: With fewer repetitions there is no interval: two values say next to nothing about how far values scatter.
FEWEST = 3
#: What repetitions may be.
RUNS, ITERATIONS, TIMINGS, EVENTS, COUNTS = "runs", "iterations", "timings", "events", "counts"

#: What names a group: a text, or a tuple of what tells it from others.
Key = TypeVar("Key", bound=Hashable)
#: From the mean of each group to a value.
Metric = Callable[[Mapping[Key, float]], float]


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
    degrees: float
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


def errors_at(confidence: float, degrees: float) -> float:
    """Return how many standard errors an interval reaches to each side by Student's t, 2.78 for 0.95 and 4 degrees."""
    return float(stdtrit(degrees, (1 + confidence) / 2))


def joint_degrees(parts: Iterable[tuple[float, float]]) -> float | None:
    """Return the degrees of freedom of a sum by Welch and Satterthwaite; None where nothing scatters.

    Args:
        parts: of each group, its part of the variance and its degrees of freedom.
    """
    known = list(parts)
    per_degree = sum(variance**2 / degrees for variance, degrees in known)
    return sum(variance for variance, _ in known) ** 2 / per_degree if per_degree else None


def half_width(groups: Mapping[Key, Group], metric: Metric[Key], means: Mapping[Key, float]) -> float:
    """Return how far the 95 % interval of a metric reaches to each side.

    It is a t-interval with Welch's and Satterthwaite's degrees of freedom. How far an error of a group's mean carries
    is found by moving that mean to the ends of its own interval. So it is also right for the smallest of several means:
    one that is not the smallest counts if it could be.

    Args:
        groups: those that matter.
        metric: from all means to the value.
        means: of all groups.
    """
    value = metric(means)

    def variances(errors: float) -> list[float]:
        """Return, by group, the square of what the metric changes by if the group's mean is off by that many errors."""
        return [
            max((metric({**means, name: group.moved(sign * errors)}) - value) ** 2 for sign in (-1, 1))
            if group.error
            else 0.0
            for name, group in groups.items()
        ]

    degrees = joint_degrees(zip(variances(1.0), (group.degrees for group in groups.values()), strict=True))
    if degrees is None:
        return 0.0
    return math.sqrt(sum(variances(errors_at(CONFIDENCE_PERCENT / 100, degrees))))


def estimated(groups: Mapping[Key, Sequence[float]], metric: Metric[Key], unit: str = RUNS) -> Estimate:
    """Estimate a metric of the groups' means.

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
    half = half_width({name: group_of(values) for name, values in mattering.items()}, metric, means)
    return Estimate(value, value - half, value + half, fewest, unit)
