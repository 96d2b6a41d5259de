"""This file measures a calibration: each loop runs in a process of its own, and the times of its twins give costs."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlscope.analysis.correction.corrected import Correction, versions_of
from rlscope.analysis.correction.costs import ZERO, Bounds, Cost
from rlscope.analysis.sweep import sweep_trace
from rlscope.calibration.calibration import Calibration, conditions_here, now
from rlscope.calibration.run_to_end import run_to_end
from rlscope.calibration.twins import MEASURED
from rlscope.calibration.workload import LOOPS, MANY, OFF, SETTLING, STABLE_BASELINES3, SWAPS, Measured
from rlscope.errors import UsageError
from rlscope.model import BACKPROPAGATION, INFERENCE
from rlscope.trace.reader import open_trace

#: Of measuring, all loops together; starting their processes and twins comes on top.
SECONDS = 60.0
RESAMPLES = 1000
#: Of a burst of the cycle, how many are left out at each end: those in which the machine did something else.
TRIMMED = 0.1
#: By how much what an event costs differs from program to program: one standard deviation of its logarithm. It was
#: measured with the programs of the overhead-correction study: docs/calibration.md, "The interval", says how.
BETWEEN_PROGRAMS = 0.25
#: Operations that scripts without a library have, besides simulation.
GUESSED_STAGES = (INFERENCE, BACKPROPAGATION)

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value with what it might as well have been: one for each resampling of bursts."""

    mean: float
    samples: Numbers

    def __sub__(self, other: Estimate) -> Estimate:
        return Estimate(self.mean - other.mean, self.samples - other.samples)

    def __mul__(self, factor: float) -> Estimate:
        return Estimate(self.mean * factor, self.samples * factor)

    def in_another_program(self, measured_in: int) -> Estimate:
        """Return what it may be in a program that was not measured, where the mean of so many is known.

        That program is off from what all programs have in the mean, and so is the mean of the few that were measured.
        """
        factors = np.random.default_rng(3).lognormal(0, BETWEEN_PROGRAMS * math.sqrt(1 + 1 / measured_in), RESAMPLES)
        return Estimate(self.mean, self.samples * factors)

    def bounds(self) -> Bounds:
        """Return the estimate with an interval of 95 %; nothing takes less than no time."""
        low, high = np.percentile(self.samples, [2.5, 97.5])
        mean = max(0.0, self.mean)
        return Bounds(min(mean, max(0.0, float(low))), mean, max(mean, float(high)))


def mean_of(estimates: list[Estimate]) -> Estimate:
    """Return the mean of several programs: each resampling takes one of them, so that the interval holds how much
    they differ.
    """
    random = np.random.default_rng(2)
    chosen = random.integers(len(estimates), size=RESAMPLES)
    samples = np.array([estimates[which].samples[place] for place, which in enumerate(chosen)])
    return Estimate(float(np.mean([each.mean for each in estimates])), samples)


@dataclass(frozen=True)
class Events:
    """This is what one twin recorded: events of all its bursts, settling included, by the most exact key."""

    counts: Mapping[str, int]
    bursts: int

    def total(self, kind: str) -> int:
        """Return events of "operation", "boundary" or "cuda"."""
        return sum(count for key, count in self.counts.items() if key.startswith(f"{kind}/"))

    def per_burst(self, kind: str) -> float:
        """Return the same, of a burst."""
        return self.total(kind) / self.bursts


class LoopFound:
    """This is what the twins of one loop took, and recorded."""

    def __init__(self, measured: Measured, directory: Path) -> None:
        self._lengths_ns = {twin: np.array(lengths) for twin, lengths in measured.lengths_ns.items()}
        self._cycle = measured.cycle
        self._sweeps = {
            twin: sweep_trace(open_trace(directory / twin), correction=Correction({}, "", {}))
            for twin in self._lengths_ns
            if twin != OFF
        }

    @property
    def clock(self) -> str:
        """Return what the recordings read the time from."""
        return next(iter(self._sweeps.values())).processes[0].file.clock_kind.name.lower()

    @property
    def driver(self) -> dict[str, str]:
        """Return the driver's version, if a recorded process has used it."""
        processes = [process for swept in self._sweeps.values() for process in swept.processes]
        versions = [versions_of(process.found.properties).get("driver") for process in processes]
        return next(({"driver": str(version)} for version in versions if version), {})

    def more_ns(self, twin: str, than: str = OFF) -> Estimate:
        """Return by how much a usual burst of one twin is longer than that of another."""
        random = np.random.default_rng(1)
        more = (self._lengths_ns[twin] - self._lengths_ns[than]).reshape(-1, self._cycle)
        samples = [_usual(more[random.integers(len(more), size=len(more))]) for _ in range(RESAMPLES)]
        return Estimate(_usual(more), np.array(samples))

    def events(self, twin: str) -> Events:
        """Return the events that it recorded."""
        counts: Counter[str] = Counter()
        for process in self._sweeps[twin].processes:
            found = process.found.correction
            assert found is not None
            counts.update(found.uncalibrated)
        settling = SETTLING * SWAPS * len(self._lengths_ns)
        return Events(counts, len(self._lengths_ns[twin]) + settling)

    def cost_ns(self, twin: str, kind: str) -> Estimate:
        """Return what recording an event takes, where the twin records no other kind."""
        return self.more_ns(twin) * (1 / self.events(twin).per_burst(kind))

    def records_ns(self, kind: str) -> Estimate:
        """Return what the work of an event's two records takes."""
        return self.more_ns("many", "on") * (1 / (MANY - 1) / self.events("on").per_burst(kind))

    def share_inside(self, kind: str) -> float:
        """Return how much of that work lies within the recorded intervals, from how much longer these become by
        repeating it.

        Of n events, of which d lie directly in another one, what lies inside a repeats makes the time in events longer
        by n a + d b, and the time in none by (n - d) b, with b what lies outside.
        """
        within, outside = (self._longer_ticks(kind, is_within) for is_within in (True, False))
        nested = self._nested(kind)
        b = outside / (1 - nested) if nested < 1 else 0.0
        a = within - nested * b
        return float(np.clip(a / (a + b), 0, 1)) if a + b > 0 else 0.5

    def _longer_ticks(self, kind: str, is_within: bool) -> float:
        ticks = dict.fromkeys(("on", "many"), 0)
        for twin in ticks:
            for process in self._sweeps[twin].processes:
                for row in process.found.breakdown:
                    is_event = row.operation != "(none)" if kind == "operation" else row.category != "python"
                    if row.phase == MEASURED and is_event == is_within:
                        ticks[twin] += row.ticks
        return float(ticks["many"] - ticks["on"])

    def _nested(self, kind: str) -> float:
        """Return the share of boundaries that are called by another one; nothing else is nested in the loops."""
        if kind != "boundary":
            return 0.0
        found = [process.found for process in self._sweeps["on"].processes]
        entries = sum(row.entries for each in found for row in each.transitions)
        return 1 - entries / sum(sum(each.crossings.values()) for each in found)


def _usual(cycles: NDArray[np.int64]) -> float:
    """Return the mean, over the bursts of a cycle, of each burst's mean over the cycles without the extreme ones."""
    left_out = int(TRIMMED * len(cycles))
    return float(np.sort(cycles, axis=0)[left_out : len(cycles) - left_out].mean())


def calibrate(on_loop: Callable[[str], None], seconds: float = SECONDS) -> tuple[Calibration, dict[str, str]]:
    """Measure all loops that this machine and this Python have.

    Args:
        on_loop: called after each with its name.
        seconds: how long to measure.

    Returns:
        The calibration, and of each loop that cannot be run here, why.

    Raises:
        UsageError: a measuring process failed.
    """
    loops: dict[str, LoopFound] = {}
    versions: dict[str, str] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="rlscope-calibrate-") as directory:
        left = seconds
        for name, loop in LOOPS.items():
            place = Path(directory, name.replace(" ", "-"))
            place.mkdir()
            measured = _run(name, left * loop.share, place)
            if measured.missing:
                missing[name] = measured.missing
            else:
                loops[name] = LoopFound(measured, place)
                versions |= measured.versions | loops[name].driver
                left -= seconds * loop.share if loop.has_device else 0
            on_loop(name)
    clock = loops["annotations"].clock
    messages = {int(processes): _mean_of(ns) for processes, ns in _said_by("messages").items()}
    on_loop("messages")
    return Calibration(conditions_here(clock), now(), versions, costs_of(loops), messages), missing


def _mean_of(ns: list[float]) -> Bounds:
    """Return the mean of measurements with its interval, by resampling them."""
    samples = np.random.default_rng(4).choice(ns, (RESAMPLES, len(ns))).mean(axis=1)
    return Estimate(float(np.mean(ns)), samples).bounds()


def _run(name: str, seconds: float, directory: Path) -> Measured:
    """Run one loop's process."""
    return Measured(**_said_by("workload", name, str(seconds), str(directory)))


def _said_by(module: str, *arguments: str) -> dict[str, Any]:
    """Run a module of this folder, which finds the same modules as this one wherever it is run; return what it says."""
    command = [sys.executable, "-m", f"rlscope.calibration.{module}", *arguments]
    package = str(Path(__file__).resolve().parents[2])
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([package, *sys.path[1:]])}
    finished = run_to_end(command, env=variables, cwd=tempfile.gettempdir())
    if finished.returncode != 0:
        said = (finished.stderr.strip().splitlines() or ["nothing was said"])[-1]
        what = arguments[0] if arguments else module
        raise UsageError(f"the costs of {what} were expected, but the process that measures them failed: {said}; "
                         f"run {' '.join(command)}")  # fmt: skip
    measured: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return measured


def costs_of(loops: Mapping[str, LoopFound]) -> dict[str, Cost]:
    """Return the costs that the loops show, by key, with intervals that hold those of other programs.

    What the work of records takes is measured where it is repeated. All else that an event costs is the way into the
    recorder and what it pushes out of the caches. Both differ between programs, and in each of them alike.
    """
    kinds = {"operation": loops["annotations"], "boundary": loops["standard library"]}
    programs = {kind: [loop.cost_ns("on", kind)] for kind, loop in kinds.items()}
    events = {kind: loop.events("on") for kind, loop in kinds.items()}
    if "environment" in loops:
        programs["operation/simulation"] = [loops["environment"].cost_ns("operations", "operation")]
        events["operation/simulation"] = loops["environment"].events("operations")
    if "script" in loops:
        cost, counted = _guessed_stages(loops["script"], programs["operation/simulation"][0])
        for stage in GUESSED_STAGES:
            programs[f"operation/{stage}"], events[f"operation/{stage}"] = [cost], counted
    if of_library := [loops[name] for name in STABLE_BASELINES3 if name in loops]:
        programs["operation@stable_baselines3"] = [loop.cost_ns("operations", "operation") for loop in of_library]
        events["operation@stable_baselines3"] = of_library[0].events("operations")
    if "gpu" in loops:
        kinds["cuda"] = loops["gpu"]
        programs["cuda"], events["cuda"] = [loops["gpu"].cost_ns("on", "cuda")], loops["gpu"].events("on")
    if training := [loops[name] for name in ("script", *STABLE_BASELINES3) if name in loops]:
        programs["boundary/torch"] = [loop.cost_ns("backend", "boundary") for loop in training]
        events["boundary/torch"] = training[0].events("backend")
    totals = {key: mean_of(of_programs) for key, of_programs in programs.items()}
    if training:
        # Other libraries are called in trainings too, but maybe in loops as tight as that of the standard library.
        both = mean_of([*programs["boundary/torch"], *programs["boundary"]])
        totals["boundary"] = replace(both, mean=totals["boundary/torch"].mean)
    costs = {}
    for key, total in totals.items():
        kind = key.partition("@")[0].partition("/")[0]
        records, share = kinds[kind].records_ns(kind), kinds[kind].share_inside(kind)
        inside, outside, rest = (
            part.in_another_program(len(programs[key])).bounds()
            for part in (records * share, records * (1 - share), total - records)
        )
        # CUPTI makes its own records of a call between the two callbacks that ours are made in.
        rest_inside, rest_outside = (rest, ZERO) if kind == "cuda" else (ZERO, rest)
        costs[key] = Cost(inside, outside, rest_outside, events[key].total(kind), rest_inside)
    return costs


def _guessed_stages(script: LoopFound, simulation_ns: Estimate) -> tuple[Estimate, Events]:
    """Return what an operation costs whose stage is guessed: what the loop's steps of the environment leave."""
    events = script.events("operations")
    steps = events.counts["operation/simulation"] / events.bursts
    others = events.per_burst("operation") - steps
    return (script.more_ns("operations") - simulation_ns * steps) * (1 / others), events
