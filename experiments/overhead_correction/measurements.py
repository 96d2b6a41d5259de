"""This file makes tables of twins: what recording added by their bursts, and what correction took off again."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.harness.progress import Workload
from experiments.verdicts.statistics import CONFIDENCE_PERCENT, FEWEST, ITERATIONS, RUNS, Estimate
from rlscope.analysis.analysis import make_analysis
from rlscope.analysis.correction.corrected import Z95, Correction
from rlscope.analysis.correction.costs import ZERO, Bounds
from rlscope.analysis.sweep import own_correction, sweep_trace
from rlscope.calibration.twins import MEASURED
from rlscope.errors import IncompleteTraceError
from rlscope.libraries import LIBRARIES
from rlscope.model import Category
from rlscope.trace.reader import open_trace

Numbers = NDArray[np.float64]
RESAMPLES = 2000

#: The twins of workloads/overhead_twins.py: not recorded; recorded; recorded with the cost of each record amplified.
OFF, ON, AMPLIFIED = "off", "x1", ("x4", "x16")
RECORDED = (ON, *AMPLIFIED)
#: What overhead comes from, bottom to top of a bar; waits count as the backend.
SOURCES = ("operation", "simulator", "backend", "cuda")
SIMULATORS = {
    boundary.library
    for file in LIBRARIES
    for boundary in vars(import_module(file)).get("BOUNDARIES", ())
    if boundary.category is Category.SIMULATOR
}
#: Share of the bursts of each place in an iteration without which, at either end, what is added is shown as well:
#: something else disturbed them, or the recorder did what it does seldom.
TRIMMED = 0.2


@dataclass(frozen=True)
class Overhead:
    """One repetition of a workload. An iteration is the bursts after which the same kinds of work come again.

    Attributes:
        workload: what ran.
        off_s: of each burst that was not recorded; a row for each iteration.
        added_s: by recorded twin, how much longer the same bursts were there.
        removed_s: by recorded twin, what correction takes off an iteration.
        sources_s: what that comes from, by source, for the twin that is not amplified.
    """

    workload: Workload
    off_s: Numbers
    added_s: Mapping[str, Numbers]
    removed_s: Mapping[str, Bounds]
    sources_s: Mapping[str, Bounds]

    @property
    def iterations(self) -> int:
        """Return how many were measured."""
        return len(self.off_s)


def overhead_of(workload: Workload, directory: Path, correction: Correction) -> Overhead:
    """Return what twins have left in a directory.

    Raises:
        IncompleteTraceError: A trace lacks something.
    """
    found: dict[str, Any] = json.loads((directory / "bursts.json").read_text())
    bursts_s = {name: np.array(lengths) / 1e9 for name, lengths in found["lengths_ns"].items()}
    bursts: int = found["bursts"]
    whole = {name: lengths.reshape(-1, bursts) for name, lengths in bursts_s.items()}
    share = 1 / len(whole[OFF])
    removed = {name: removed_s(directory / name, correction) for name in RECORDED}
    return Overhead(
        workload,
        whole[OFF],
        {name: whole[name] - whole[OFF] for name in RECORDED},
        {name: total * share for name, (total, _) in removed.items()},
        {source: part * share for source, part in removed[ON][1].items()},
    )


def removed_s(directory: Path, correction: Correction) -> tuple[Bounds, dict[str, Bounds]]:
    """Return what correction takes off all measured bursts of a recorded twin: in all, and by source."""
    swept = sweep_trace(open_trace(directory), correction=correction)
    if swept.why:
        raise IncompleteTraceError(f"{directory}: expected a complete trace, found that {'; '.join(swept.why)}")
    table = make_analysis(swept).breakdown.table
    sums = table[table["phase"] == MEASURED].sum(numeric_only=True)
    low, expected, high = (
        float(sums["seconds"] - sums[name]) for name in ("corrected_high_s", "corrected_seconds", "corrected_low_s")
    )
    charged: Counter[str] = Counter()
    for process in swept.processes:
        assert process.found.correction is not None
        charged.update(process.found.correction.charged)
    one = swept.processes[0]  # all have had the same role
    costs = sources_of(charged, own_correction(correction, one.file, one.found.properties))
    # The counts are also those of settling, which is the same work. A calibration may know no cost that was charged.
    part = expected / (sum(cost.mean for cost in costs.values()) or 1.0)
    return Bounds(low, expected, high), {source: cost * part for source, cost in costs.items()}


def sources_of(charged: Mapping[str, int], correction: Correction) -> dict[str, Bounds]:
    """Return events times their costs in ns, by source."""
    sums = dict.fromkeys(SOURCES, ZERO)
    for key, count in charged.items():
        kind, _, name = key.partition("/")
        source = kind if kind != "boundary" else "simulator" if name in SIMULATORS else "backend"
        sums[source] += correction.cost_of(key).total_ns * count
    return sums


@dataclass(frozen=True)
class Draws:
    """This is what was measured of a workload, and what it could have been as well: the first number of each array,
    the others.

    Attributes:
        off_s: seconds of an iteration that is not recorded.
        added_s: by recorded twin, what recording added to one.
        added_trimmed_s: of the twin that is not amplified, the same without extreme bursts.
        removed_s: by recorded twin, what correction takes off again, by any value in the calibration's interval.
        sources_s: what that comes from.
        iterations: of all repetitions.
        runs: how many repetitions there are.
    """

    off_s: Numbers
    added_s: Mapping[str, Numbers]
    added_trimmed_s: Numbers
    removed_s: Mapping[str, Numbers]
    sources_s: Mapping[str, Numbers]
    iterations: int
    runs: int

    @property
    def repeated(self) -> tuple[int, str]:
        """Return what the intervals rest on: runs if they are enough, else the iterations of the few that there are."""
        return (self.runs, RUNS) if self.runs >= FEWEST else (self.iterations, ITERATIONS)

    @property
    def uncorrected(self) -> "Draws":
        """Return the same, corrected by nothing at all."""
        return replace(self, removed_s={name: np.zeros_like(removed) for name, removed in self.removed_s.items()})

    def left_s(self, name: str) -> Numbers:
        """Return what this calibration's correction leaves of what recording added, or took too much (negative).

        How far another program's costs may be from the calibrated ones is no part of its interval: it is what is left.
        """
        seconds: Numbers = self.added_s[name] - self.removed_s[name][0]
        return seconds

    @property
    def bias_percent(self) -> Numbers:
        """Return what correction has left, or taken too much (negative), of the time without recording."""
        return self.percent(self.left_s(ON))

    @property
    def nearer_percent(self) -> Numbers:
        """Return how much nearer to the time without recording the corrected time is than the recorded one; of
        that time.
        """
        return self.percent(np.abs(self.added_s[ON]) - np.abs(self.left_s(ON)))

    @property
    def inflation(self) -> Numbers:
        """Return recorded time over time without recording."""
        return 1 + self.added_s[ON] / self.off_s

    @property
    def removed_percent(self) -> Numbers:
        """Return how much of what recording added is gone; what is taken too much counts as what is left does."""
        return 100 * (1 - np.abs(self.left_s(ON)) / np.abs(self.added_s[ON]))

    @property
    def disagreement_percent(self) -> Numbers:
        """Return how far the corrected times are apart that come of costs amplified differently."""
        return self.percent(np.ptp([self.left_s(name) for name in RECORDED], axis=0))

    @property
    def is_measurable(self) -> bool:
        """Return whether what recording adds is known to a fifth."""
        added = self.estimate(self.added_s[ON])
        if added.low is None or added.high is None:
            return False
        return added.low > 0 and (added.high - added.low) / 2 < added.value / 5

    def percent(self, seconds: Numbers) -> Numbers:
        """Return seconds as percent of the time without recording."""
        return 100 * seconds / self.off_s

    def estimate(self, values: Numbers) -> Estimate:
        """Return a number of this workload with its interval."""
        return estimate_of(values, *self.repeated)


def estimate_of(values: Numbers, repetitions: int, unit: str) -> Estimate:
    """Return the first value, with an interval from how far the others are off, above and below.

    Resampling few repetitions scatters less than repeating them would. So a side is as many standard errors long as
    Student's t says, and longer by sqrt(n / (n - 1)).

    Args:
        values: the number as measured, then as resampled.
        repetitions: that were resampled.
        unit: what they are.
    """
    value = float(values[0])
    if repetitions < FEWEST:
        return Estimate(value, None, None, repetitions, unit)
    off = values[1:] - value
    below, above = (math.sqrt(2 * float((side**2).mean())) for side in (np.minimum(off, 0), np.maximum(off, 0)))
    quantile = float(stats.t.ppf((1 + CONFIDENCE_PERCENT / 100) / 2, repetitions - 1))
    errors = quantile * math.sqrt(repetitions / (repetitions - 1))
    return Estimate(value, value - errors * below, value + errors * above, repetitions, unit)


def draws_of(repetitions: Mapping[str, Sequence[Overhead]]) -> dict[str, Draws]:
    """Resample each workload's repetitions, and iterations in them; and what costs may be, for all workloads alike."""
    generator = np.random.default_rng(0)
    deviates = {name: np.append(0.0, generator.normal(size=RESAMPLES)) for name in ("all", *SOURCES)}
    return {name: draw(runs, deviates, generator) for name, runs in repetitions.items()}


def draw(runs: Sequence[Overhead], deviates: Mapping[str, Numbers], generator: np.random.Generator) -> Draws:
    """Resample the repetitions of one workload.

    Args:
        runs: its repetitions.
        deviates: standard deviations from what costs, or those of a source, are expected to be; the first is 0.
        generator: of random numbers.
    """
    number = len(runs)
    chosen = np.vstack([np.arange(number), generator.integers(number, size=(RESAMPLES, number))])
    rows = [
        np.vstack([np.arange(run.iterations), generator.integers(run.iterations, size=(RESAMPLES, run.iterations))])
        for run in runs
    ]

    def bursts(of_runs: Sequence[Numbers], trimmed: float = 0.0) -> Numbers:
        each = [iteration_s(lengths[taken], trimmed) for lengths, taken in zip(of_runs, rows, strict=True)]
        return mean(np.array(each))

    def mean(each: Numbers) -> Numbers:
        values: Numbers = np.take_along_axis(each, chosen.T, axis=0).mean(axis=0)
        return values

    def costs(of_runs: Sequence[Bounds], name: str) -> Numbers:
        return mean(np.array([deviating(bounds, deviates[name]) for bounds in of_runs]))

    return Draws(
        bursts([run.off_s for run in runs]),
        {name: bursts([run.added_s[name] for run in runs]) for name in RECORDED},
        bursts([run.added_s[ON] for run in runs], TRIMMED),
        {name: costs([run.removed_s[name] for run in runs], "all") for name in RECORDED},
        {source: costs([run.sources_s[source] for run in runs], source) for source in SOURCES},
        sum(run.iterations for run in runs),
        number,
    )


def iteration_s(bursts_s: Numbers, trimmed: float) -> Numbers:
    """Return seconds of an iteration: the sum of the means of each of its bursts over the iterations.

    Args:
        bursts_s: draws, iterations and bursts.
        trimmed: the share of the bursts of each place that is left out at either end.
    """
    cut = int(trimmed * bursts_s.shape[1])
    middle = np.sort(bursts_s, axis=1)[:, cut : bursts_s.shape[1] - cut] if cut else bursts_s
    seconds: Numbers = middle.mean(axis=1).sum(axis=1)
    return seconds


def deviating(bounds: Bounds, deviates: Numbers) -> Numbers:
    """Return values whose interval of 95 % is that of the bounds."""
    sides = np.where(deviates < 0, bounds.mean - bounds.low, bounds.high - bounds.mean)
    values: Numbers = bounds.mean + deviates / Z95 * sides
    return values
