"""This file finds what a change brings, of pairs of runs with and without it: a factor with an interval."""

import math
from collections.abc import Sequence
from enum import Enum

from rlscope.compare.estimate import CONFIDENCE_PERCENT, Estimate, errors_at, group_of

#: An interval of fewer is too narrow by chance now and then.
LEAST_PAIRS = 4
#: A change that brings less is not worth a line.
LEAST_FACTOR = 1.05


class Verdict(Enum):
    """A change does this to the training."""

    PAYS = "pays"
    LITTLE = "brings less than 5 %"
    SLOWER = "slower"
    OPEN = "open"
    NOT_IN_FORCE = "not in force"
    FAILED = "failed"


def factor_of(pairs: Sequence[tuple[float, float]]) -> Estimate:
    """Return how many times as fast it is: the geometric mean over pairs of times, without and with the change."""
    logs = [math.log(without / with_it) for without, with_it in pairs]
    if len(logs) < 2:
        return Estimate(math.exp(logs[0]), None, None, 1, "pairs")
    group = group_of(logs)
    half = errors_at(CONFIDENCE_PERCENT / 100, group.degrees) * group.error
    return Estimate(math.exp(group.mean), math.exp(group.mean - half), math.exp(group.mean + half), len(logs), "pairs")


def verdict_of(factor: Estimate) -> Verdict:
    """Return what an interval says; OPEN as long as it does not exclude 5 %."""
    if factor.low is None or factor.high is None or factor.repetitions < LEAST_PAIRS:
        return Verdict.OPEN
    if factor.low > LEAST_FACTOR:
        return Verdict.PAYS
    if factor.high < 1:
        return Verdict.SLOWER
    return Verdict.LITTLE if factor.high < LEAST_FACTOR else Verdict.OPEN
