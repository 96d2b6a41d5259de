"""This file defines a side of a comparison: runs of the same thing, and what of it is repeated."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from rlscope.compare.counts import Count
from rlscope.compare.estimate import RUNS, Group, group_of
from rlscope.compare.iterations import Values, iterations_of
from rlscope.compare.parts import Part, means_of, series_of
from rlscope.compare.run_times import CauseTime, RunTimes, Unit


@dataclass(frozen=True)
class Side:
    """Runs of the same thing.

    Attributes:
        name: What the user calls it.
        runs: One or more, all with iterations or all without.
        unit: What times are of: an iteration, a timestep or a run.
    """

    name: str
    runs: tuple[RunTimes, ...]
    unit: Unit

    def scale(self, run: RunTimes) -> float:
        """Return what seconds per iteration of a run are to be multiplied with to be of this unit."""
        return 1 / run.timesteps if self.unit is Unit.TIMESTEP and run.timesteps else 1.0

    @property
    def no_core_share(self) -> float | None:
        """Return the share of the runs' time in which they waited for a core; None where that of a run is not known."""
        shares = [run.no_core_share for run in self.runs if run.no_core_share is not None]
        return fmean(shares) if len(shares) == len(self.runs) else None

    @property
    def findings(self) -> dict[str, str]:
        """Return what rules found in more than half of the runs, by their codes."""
        found = Counter(code for run in self.runs for code in run.findings)
        return {
            code: next(run.findings[code] for run in self.runs if code in run.findings)
            for code, count in sorted(found.items())
            if 2 * count > len(self.runs)
        }

    def counts(self) -> list[dict[Count, float]]:
        """Return what each run counts, per unit."""
        return [{count: number * self.scale(run) for count, number in run.counts.items()} for run in self.runs]

    def where(self, cause: str) -> str:
        """Return where most of a cause is, in the run with the most of it; empty if that is not known."""
        found = (run.causes.get(cause) for run in self.runs)
        return max((each for each in found if each is not None), default=CauseTime(0.0, "")).where

    def count(self, repeated: str) -> int:
        """Return how many runs there are, or how many iterations all of them have."""
        return len(self.runs) if repeated == RUNS else sum(len(run.lengths) for run in self.runs)

    def lengths(self) -> list[Values]:
        """Return how long each iteration took, by run."""
        return [run.lengths * self.scale(run) for run in self.runs]

    def whole(self, repeated: str) -> Group:
        """Return the group of all runs, or of all iterations."""
        if repeated == RUNS:
            return group_of([float(lengths.mean()) for lengths in self.lengths()])
        return iterations_of(self.lengths())

    def parts(self, parts: Sequence[Part], repeated: str) -> dict[Part, Group]:
        """Return the group of each part, likewise."""
        if repeated == RUNS:
            return {part: group_of(means) for part, means in self._means(parts).items()}
        series = [(series_of(run), self.scale(run)) for run in self.runs]
        return {part: iterations_of([of_run(part) * scale for of_run, scale in series]) for part in parts}

    def part_means(self, parts: Sequence[Part]) -> dict[Part, float]:
        """Return the mean of each part over the runs."""
        return {part: fmean(means) for part, means in self._means(parts).items()}

    def _means(self, parts: Sequence[Part]) -> dict[Part, list[float]]:
        of_runs = [(means_of(run, parts), self.scale(run)) for run in self.runs]
        return {part: [means[part] * part.scale(scale) for means, scale in of_runs] for part in parts}

    def mean_s(self, repeated: str, is_corrected: bool = False) -> float:
        """Return how long an iteration takes on average, also without what recording added."""
        factors = [(run.corrected or 1.0) if is_corrected else 1.0 for run in self.runs]
        means = [float(lengths.mean()) * factor for lengths, factor in zip(self.lengths(), factors, strict=True)]
        if repeated == RUNS:
            return fmean(means)
        iterations = self.count(repeated)
        return math.fsum(mean * len(run.lengths) for mean, run in zip(means, self.runs, strict=True)) / iterations
