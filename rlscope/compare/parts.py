"""This file names the parts of a run that are compared beside the whole, from stages down to functions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from rlscope.analysis.rows import sums
from rlscope.compare.iterations import Values
from rlscope.compare.run_times import Place, RunTimes

#: Of each kind so many parts are compared, those that take most: with each one more, differences must be larger to be
#: sure.
MOST_PARTS = 30


class Kind(str, Enum):
    """This is what a part is."""

    STAGE = "stage"
    OPERATION = "operation"
    LAYER = "layer"  # of an operation
    CATEGORY = "category"  # a layer of the whole run
    FUNCTION = "function"
    DEVICE = "device"
    CAUSE = "cause"  # of the account, of the whole run


@dataclass(frozen=True)
class Part:
    """A part; what does not tell it from others of its kind is empty."""

    kind: Kind
    stage: str = ""
    operation: str = ""
    category: str = ""
    function: str = ""
    device: int | None = None
    cause: str = ""

    def scale(self, of_iteration: float) -> float:
        """Return what its numbers are to be multiplied with where those of iterations are with this: causes are not."""
        return 1.0 if self.kind is Kind.CAUSE else of_iteration


def parts_of(place: Place) -> tuple[Part, ...]:
    """Return the parts that a place belongs to, from its stage on."""
    stage, operation, category, function = place
    return (
        Part(Kind.STAGE, stage),
        Part(Kind.OPERATION, stage, operation),
        Part(Kind.LAYER, stage, operation, category),
        Part(Kind.CATEGORY, category=category),
        *([Part(Kind.FUNCTION, stage, operation, category, function)] if function else []),
    )


def compared_parts(runs: Sequence[RunTimes]) -> list[Part]:
    """Return the parts of the runs, of each kind the longest.

    A part that is all of the part that it is in is left out, such as the only operation of a stage. So is a function
    without a name, which is the rest of its layer.
    """
    inside: dict[Part, set[Part]] = {}
    for place in {place for run in runs for place, took in zip(run.places, run.means_s() > 0, strict=True) if took}:
        for part in (parts := parts_of(place)):
            inside.setdefault(part, set()).add(parts[2])
    seconds = _longest(runs)
    found = []
    for kind in (Kind.STAGE, Kind.OPERATION, Kind.LAYER, Kind.CATEGORY, Kind.FUNCTION):
        named = [part for part in inside if part.kind is kind and not _is_whole(part, inside)]
        named.sort(key=lambda part: (-seconds[part], part.stage, part.operation, part.category, part.function))
        found += named[: MOST_PARTS if kind is not Kind.STAGE else None]
    return found


def _is_whole(part: Part, inside: Mapping[Part, set[Part]]) -> bool:
    """Return whether a part is all of the one that it is in, by the layers in both."""
    if part.kind is Kind.OPERATION:
        return inside[part] == inside[Part(Kind.STAGE, part.stage)]
    if part.kind is Kind.LAYER:
        return inside[part] == inside[Part(Kind.OPERATION, part.stage, part.operation)]
    return False


def _longest(runs: Sequence[RunTimes]) -> dict[Part, float]:
    """Return how long each part took in the run in which it took longest."""
    longest: dict[Part, float] = {}
    for run in runs:
        pairs = zip(run.places, run.means_s().tolist(), strict=True)
        for part, seconds in sums((part, mean_s) for place, mean_s in pairs for part in parts_of(place)).items():
            longest[part] = max(longest.get(part, 0.0), seconds)
    return longest


def compared_causes(runs: Sequence[RunTimes]) -> list[Part]:
    """Return the causes of the runs, the longest."""
    longest: dict[str, float] = {}
    for run in runs:
        longest |= {cause: max(longest.get(cause, 0.0), found.seconds) for cause, found in run.causes.items()}
    return [Part(Kind.CAUSE, cause=each) for each in sorted(longest, key=lambda each: -longest[each])[:MOST_PARTS]]


def means_of(run: RunTimes, parts: Sequence[Part]) -> dict[Part, float]:
    """Return how long an iteration of a run was in each part, devices included; causes of all of it."""
    pairs = zip(run.places, run.means_s().tolist(), strict=True)
    found = sums((part, mean_s) for place, mean_s in pairs for part in parts_of(place))
    beside: Iterator[tuple[Part, float]] = ((Part(Kind.DEVICE, device=key), busy) for key, busy in run.busy_s.items())
    found |= dict(beside) | {Part(Kind.CAUSE, cause=name): cause.seconds for name, cause in run.causes.items()}
    return {part: found.get(part, 0.0) for part in parts}


def series_of(run: RunTimes) -> Callable[[Part], Values]:
    """Return a function from a part to how long each iteration of a run was in it."""
    belongs = [set(parts_of(place)) for place in run.places]
    return lambda part: run.series_s(np.array([part in each for each in belongs], np.bool_))
