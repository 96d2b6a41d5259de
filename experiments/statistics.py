"""Repetitions to a value with its interval, by resampling the repetitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy

RESAMPLES = 2000
CONFIDENCE_PERCENT = 95


@dataclass(frozen=True)
class Estimate:
    """A value over repetitions.

    Attributes:
        value: the metric of all repetitions.
        low: lower end of its 95 % bootstrap interval; equal to value where there is one repetition.
        high: upper end.
        repetitions: the smallest number of repetitions that a group has; 0 of what was calculated, not measured.
    """

    value: float
    low: float
    high: float
    repetitions: int


def bootstrap(groups: Mapping[str, Sequence[float]], metric: Callable[[Mapping[str, float]], float]) -> Estimate:
    """Estimate a metric of the groups' means.

    Args:
        groups: for each group (an algorithm, say) one number per repetition.
        metric: from the mean of each group to the value.

    Returns:
        The metric of the means, with a percentile interval from resampling each group's repetitions on its own.
    """
    generator = numpy.random.default_rng(0)
    means = {
        name: numpy.asarray(values)[generator.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
        for name, values in groups.items()
    }
    resampled = [metric({name: float(mean[index]) for name, mean in means.items()}) for index in range(RESAMPLES)]
    tail = (100 - CONFIDENCE_PERCENT) / 2
    low, high = numpy.percentile(resampled, [tail, 100 - tail])
    value = metric({name: float(numpy.mean(values)) for name, values in groups.items()})
    return Estimate(value, float(low), float(high), min(len(values) for values in groups.values()))


def bootstrap_mean(values: Sequence[float]) -> Estimate:
    """The mean of the repetitions, with its interval."""
    return bootstrap({"mean": values}, lambda means: means["mean"])


def exact(value: float) -> Estimate:
    """What is calculated, and the same each time."""
    return Estimate(value, value, value, repetitions=0)
