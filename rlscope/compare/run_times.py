"""This file defines the times of one run that can be compared with those of another one."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rlscope.compare.counts import Count
from rlscope.compare.iterations import Values

Indices: TypeAlias = npt.NDArray[np.integer[Any]]


class Place(NamedTuple):
    """A function that an operation called in a layer; the name is empty for Python outside any call."""

    stage: str
    operation: str
    category: str
    function: str


class Unit(str, Enum):
    """This is what times are of."""

    ITERATION = "iteration"
    TIMESTEP = "timestep"
    LOOP = "loop"
    RUN = "run"


class CauseTime(NamedTuple):
    """This says for how long a run went for a cause, and where most of that was; `where` is empty if not known."""

    seconds: float
    where: str


@dataclass(frozen=True)
class Facts:
    """The conditions of a run, which may explain a difference. What is not known is None.

    Attributes:
        machine: The processor and how many cores the system has.
        python: Its version.
        rlscope: The version that recorded; None of a run that was only timed.
        command: What ran.
        layers: Which layers were recorded; None where that is not known.
        counters: Which hardware counters were sampled.
        calibration: How times were corrected; None if they were not.
    """

    machine: str | None = None
    python: str | None = None
    rlscope: str | None = None
    command: tuple[str, ...] | None = None
    layers: tuple[str, ...] | None = None
    counters: tuple[str, ...] = ()
    calibration: str | None = None


@dataclass(frozen=True)
class RunTimes:
    """The times of one run: of each iteration; without iterations of the loop, or of all of it, as of one iteration.

    Entries say how long an iteration was in a place; they sum to its length. Of very many iterations some have entries.

    Attributes:
        path: The trace, or the file of a run that was only timed.
        unit: ITERATION; LOOP where no iteration is known; RUN where nothing shows a loop.
        lengths: How long each iteration took, in seconds and in order. Shape: (iterations,).
        places: What `place` counts.
        kept: How many iterations have entries.
        iteration: Of each entry, its iteration among those. Shape: (entries,).
        place: Of each entry, its place. Shape: (entries,).
        seconds: Of each entry, how long. Shape: (entries,).
        first_s: How long the first iteration took, which is left out; None if it is not.
        evaluated: How many iterations are left out because a policy was evaluated in them.
        timesteps: How many an iteration has; None if that is not known.
        busy_s: How long each device worked per iteration, by its number; from the begin of the loop to its end.
        counts: What it counts, per iteration; nothing of a run that was only timed.
        causes: The causes of its account, by the words for them; of the whole run.
        findings: What rules found in the run, by their codes; of a rule the largest.
        no_core_share: The share of its processes' time in which they waited for a core, from 0 to 1; None of a run that
            was only timed, or recorded before such time was told from other time.
        corrected: What times are to be multiplied with to be without the cost of recording; None if that is not known.
        start_ns: When the run began, in nanoseconds since 1970; 0 if that is not known.
        end_ns: When it ended.
        why: What is missing from the trace, one sentence each.
        facts: Its conditions.
    """

    path: Path
    unit: Unit
    lengths: Values
    places: tuple[Place, ...]
    kept: int
    iteration: Indices
    place: Indices
    seconds: Values
    first_s: float | None
    evaluated: int
    timesteps: float | None
    busy_s: Mapping[int, float]
    counts: Mapping[Count, float]
    causes: Mapping[str, CauseTime]
    findings: Mapping[str, str]
    no_core_share: float | None
    corrected: float | None
    start_ns: int
    end_ns: int
    why: tuple[str, ...]
    facts: Facts

    @property
    def is_recorded(self) -> bool:
        """Return whether it is known where the time went."""
        return bool(self.places)

    @property
    def mean_s(self) -> float:
        """Return how long an iteration took on average."""
        return float(self.lengths.mean())

    def means_s(self) -> Values:
        """Return how long an iteration was in each place on average. Shape: (places,)."""
        return np.bincount(self.place, weights=self.seconds, minlength=len(self.places)) / self.kept

    def series_s(self, chosen: npt.NDArray[np.bool_]) -> Values:
        """Return how long each iteration with entries was in the chosen places. Shape: (kept,).

        Args:
            chosen: Whether each place is one of them. Shape: (places,).
        """
        inside = chosen[self.place]
        found = np.bincount(self.iteration[inside], weights=self.seconds[inside], minlength=self.kept)
        return found.astype(np.float64)


def timed(path: Path, seconds: float, start_ns: int, facts: Facts) -> RunTimes:
    """Return the times of a run that was only timed."""
    none = np.zeros(0, np.intp)
    return RunTimes(
        path=path, unit=Unit.RUN, lengths=np.array([seconds]), places=(), kept=1, iteration=none, place=none,
        seconds=np.zeros(0), first_s=None, evaluated=0, timesteps=None, busy_s={}, counts={}, causes={},
        findings={}, no_core_share=None, corrected=None, start_ns=start_ns,
        end_ns=start_ns + round(seconds * 1e9), why=(), facts=facts,
    )  # fmt: skip
