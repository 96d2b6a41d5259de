"""This file compares the numbers of a changed training: its losses bit by bit, then how far they are apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from rlscope.text.numbers import count

#: From the first that differs on, so many losses say how far the numbers are apart.
COMPARED = 10
#: What rounding makes of ten updates is less; what is apart farther is another training.
MOST_OF_ROUNDING = 1e-3


class Kind(Enum):
    """A kind of difference between the numbers of a changed training and of the unchanged one."""

    SAME = "same"
    CLOSE = "close"
    DIFFER = "differ"
    UNSTEADY = "unsteady"
    NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Numbers:
    """The difference between the numbers of two runs.

    Attributes:
        kind: The same bits; close, as by rounding; differ; unsteady where they differ from run to run of the unchanged
            program; not known without any.
        what: What was compared: losses, or rewards where there is none.
        compared: How many of them.
        equal: How many from the first on are equal bit by bit.
        relative: How far the next ten are apart at most, relative to their size; None where all are equal.
        sums_relative: How far the sums of parameters at the end are apart, likewise; 0 if they are equal; None if there
            is no optimizer.
    """

    kind: Kind
    what: str
    compared: int
    equal: int
    relative: float | None
    sums_relative: float | None

    @property
    def text(self) -> str:
        """Return it in words."""
        if self.kind is Kind.SAME:
            return "same"
        if self.kind is Kind.NOT_KNOWN:
            return "not known: neither losses nor rewards were seen"
        if self.kind is Kind.UNSTEADY:
            return "not known: those of the unchanged program differ from run to run; seed it"
        if self.relative is None:
            return f"{self.what} same, parameters {self.sums_relative:.0e} apart"
        apart = "differ" if self.kind is Kind.DIFFER else f"{self.relative:.0e} apart"
        return f"{self.what} equal for the first {count(self.equal)}, then {apart}" if self.equal else apart


def compared(
    base: Sequence[float],
    changed: Sequence[float],
    base_sums: Sequence[float],
    changed_sums: Sequence[float],
    what: str,
) -> Numbers:
    """Return how numbers of a run compare with those of the unchanged program."""
    number = min(len(base), len(changed))
    if not number:
        return Numbers(Kind.NOT_KNOWN, what, 0, 0, None, None)
    equal = next((i for i in range(number) if not _is_same(base[i], changed[i])), number)
    relative = None if equal == number else _apart(base[equal:number], changed[equal:number])
    sums = _apart(base_sums, changed_sums) if base_sums and len(base_sums) == len(changed_sums) else None
    farthest = relative if relative is not None else sums or 0.0
    kind = Kind.SAME if not farthest else Kind.CLOSE if farthest <= MOST_OF_ROUNDING else Kind.DIFFER
    return Numbers(kind, what, number, equal, relative, sums)


def _apart(base: Sequence[float], changed: Sequence[float]) -> float:
    pairs = list(zip(base, changed, strict=False))[:COMPARED]
    apart = [
        0.0 if _is_same(one, other) else abs(one - other) / max(abs(one), abs(other), 1e-300) for one, other in pairs
    ]
    return max((each if math.isfinite(each) else math.inf for each in apart), default=0.0)


def _is_same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))
