"""This file tells which of many differences are there for sure: one of them is named wrongly in few comparisons."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from scipy.special import stdtr

from rlscope.compare.estimate import Group, errors_at, joint_degrees

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Difference:
    """A difference is how much more a part takes on the other side than on the base.

    Attributes:
        base: The mean of the base.
        other: The mean of the other side.
        value: Their difference: the other side's less the base's.
        low: The lower end of its interval; None where too little was repeated for one.
        high: The upper end. An interval that does not hold zero is of a difference that is there for sure.
    """

    base: float
    other: float
    value: float
    low: float | None
    high: float | None

    @property
    def has_interval(self) -> bool:
        """Return whether it is known how sure it is."""
        return self.low is not None

    @property
    def is_sure(self) -> bool:
        """Return whether there is a difference for sure."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def differences(pairs: Mapping[Key, tuple[Group, Group]], chance: float) -> dict[Key, Difference]:
    """Compare the groups of each pair; the chance that any of them seems to differ that does not is at most `chance`.

    The most certain one of m is judged as if it were one of m, the next as one of m - 1, and so on until one is not
    certain (Holm); that one's level holds for the rest. Say three stages have differences with a probability by chance
    of 0.004, 0.03 and 0.5, and the chance is to be 0.05. The first is sure, for 0.004 is less than 0.05 / 3. The
    second is not, for 0.03 is more than 0.05 / 2.

    Args:
        pairs: of each part its group on the base, and on the other side.
        chance: such as 0.05.
    """
    order = sorted(pairs, key=lambda key: by_chance(*pairs[key]))
    found: dict[Key, Difference] = {}
    level = 0.0
    is_open = True
    for place, key in enumerate(order):
        if is_open:
            level = chance / (len(order) - place)
            is_open = by_chance(*pairs[key]) < level
        found[key] = difference(*pairs[key], 1 - level)
    return {key: found[key] for key in pairs}


def difference(base: Group, other: Group, confidence: float) -> Difference:
    """Return the difference of two means, with an interval by Welch's t."""
    value = other.mean - base.mean
    degrees = degrees_of(base, other)
    half = math.hypot(base.error, other.error) * errors_at(confidence, degrees) if degrees is not None else 0.0
    return Difference(base.mean, other.mean, value, value - half, value + half)


def by_chance(base: Group, other: Group) -> float:
    """Return how probable so large a difference is where there is none."""
    degrees = degrees_of(base, other)
    if degrees is None:
        return 1.0 if base.mean == other.mean else 0.0
    return 2 * float(stdtr(degrees, -abs(other.mean - base.mean) / math.hypot(base.error, other.error)))


def degrees_of(base: Group, other: Group) -> float | None:
    """Return the degrees of freedom of the difference; None where neither scatters."""
    return joint_degrees((group.error**2, group.degrees) for group in (base, other))
