"""This file estimates how long a whole run was in each stage and category from a sample of its iterations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rlscope.compare.estimate import CONFIDENCE_PERCENT, FEWEST, ITERATIONS, Estimate, errors_at
from rlscope.compare.iterations import Values, iterations_of

#: A stage and a category, each of them empty for all: ("", "backend") is the backend in all stages.
Part: TypeAlias = tuple[str, str]
WHOLE: Part = ("", "")


@dataclass(frozen=True)
class PartOfRun:
    """A part of a run.

    Attributes:
        stage: The stage; empty for all.
        category: The layer; empty for all.
        seconds: How long the run was in it.
        share: Which share of its time that is, from 0 to 1.
    """

    stage: str
    category: str
    seconds: Estimate
    share: Estimate


@dataclass(frozen=True)
class WholeRun:
    """An estimate of a run.

    Attributes:
        recorded: How many of its iterations were recorded.
        iterations: How many it had; while it goes on, up to the last one that is known.
        seconds: How long these took.
        parts: The stages, the categories, and the categories of each stage, those that take most first.
        windows: How many windows iterations were recorded in.
        damaged: The names of those of them that are damaged.
        why: What is missing, one sentence each; empty if nothing is.
    """

    recorded: int
    iterations: int
    seconds: Estimate
    parts: tuple[PartOfRun, ...]
    windows: int = 0
    damaged: tuple[str, ...] = ()
    why: tuple[str, ...] = ()

    def to_json_dict(self) -> dict[str, object]:
        """Return the document of `analyze --json` of a run of which iterations were sampled."""
        return {
            "schema": 1,
            "estimated": True,
            "complete": not self.why,
            "why": list(self.why),
            "recorded_iterations": self.recorded,
            "iterations": self.iterations,
            "windows": self.windows,
            "damaged_windows": list(self.damaged),
            "confidence_percent": CONFIDENCE_PERCENT,
            **_ends("seconds", self.seconds),
            "parts": [
                {
                    "stage": part.stage or None,
                    "category": part.category or None,
                    **_ends("seconds", part.seconds),
                    **_ends("share", part.share),
                }
                for part in self.parts
            ],
        }


def _ends(name: str, found: Estimate) -> dict[str, float | None]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def whole_run(series: Mapping[Part, Values], iterations: int) -> WholeRun:
    """Estimate a run.

    Say 40 of 2,000 iterations were recorded, of 0.5 s on average, 0.1 s of that in inference. Then the run took about
    1,000 s, and 20 % of that were inference. Neighbours in the sample may be alike, as `iterations_of` takes into
    account. A share is a ratio of two means, and scatters as what an iteration has in the part beyond its share.

    Args:
        series: Of each part, and of the WHOLE, how long each recorded iteration was in it, in order. Shape of each:
            (recorded,).
        iterations: How many the run had.
    """
    whole = series[WHOLE]
    parts = []
    for (stage, category), values in series.items():
        if (stage, category) == WHOLE or not values.any():
            continue
        share = float(values.sum() / whole.sum())
        beyond = (values - share * whole) / whole.mean()
        parts.append(
            PartOfRun(stage, category, _scaled(values, iterations), _interval(share, _half(beyond), 1.0, len(values)))
        )
    parts.sort(key=lambda part: -part.share.value)
    return WholeRun(len(whole), iterations, _scaled(whole, iterations), tuple(parts))


def _scaled(values: Values, iterations: int) -> Estimate:
    """Return what so many iterations take, by those that are known."""
    half = _half(values)
    return _interval(
        float(values.mean()) * iterations, None if half is None else half * iterations, float("inf"), len(values)
    )


def _half(values: Values) -> float | None:
    """Return how far the interval of a mean reaches to each side; None where there are too few values for one."""
    if len(values) < FEWEST:
        return None
    group = iterations_of([values])
    return group.error * errors_at(CONFIDENCE_PERCENT / 100, group.degrees)


def _interval(value: float, half: float | None, most: float, count: int) -> Estimate:
    if half is None:
        return Estimate(value, None, None, count, ITERATIONS)
    return Estimate(value, max(value - half, 0.0), min(value + half, most), count, ITERATIONS)


def as_series(iterations: Sequence[Mapping[Part, float]]) -> dict[Part, Values]:
    """Return what `whole_run` takes, from how long each recorded iteration was in which stage and category."""
    found: dict[Part, Values] = {WHOLE: np.zeros(len(iterations))}
    for number, iteration in enumerate(iterations):
        for (stage, category), seconds in iteration.items():
            for part in (WHOLE, (stage, ""), ("", category), (stage, category)):
                found.setdefault(part, np.zeros(len(iterations)))[number] += seconds
    return found
