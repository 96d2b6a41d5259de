"""Measures a calibration: runs the blocks of each part in processes of their own, and makes costs of their lengths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlscope.analysis.correction import Bounds, Cost, Costs
from rlscope.analysis.sweep import TraceSweep, sweep_trace
from rlscope.calibration.calibration import Calibration, now, this_environment
from rlscope.calibration.workload import PARTS, PROBES, Measured
from rlscope.errors import UsageError
from rlscope.trace.reader import open_trace

#: Processes differ in where their code and data lie, so each part is measured in several.
PROCESSES = 3
#: Of measuring, all parts and processes together; starting them comes on top.
SECONDS = 75.0
RESAMPLES = 2000
#: How long the gaps in the blocks are, about: what they measure holds for these.
NEAR_GAP_NS = 5_000
ZERO = Bounds(0.0, 0.0, 0.0)

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class ProcessCosts:
    """What one process measured, in ns per event.

    Attributes:
        added: per cycle, how much longer the recorded blocks were.
        repeated: per cycle, what the work of an event's two records takes once more.
        share_inside: of that, within the recorded interval.
        growth: per cycle, what a single event costs more after so many ns in which the thread recorded nothing.
        variance: of a single event's cost, from how much more recorded blocks differ from each other.
        events: that were recorded.
    """

    added: Numbers
    repeated: Numbers
    share_inside: float
    growth: dict[int, Numbers]
    variance: float
    events: int


def calibrate(on_part: Callable[[str], None], seconds: float = SECONDS) -> Calibration:
    """Measures all parts that this machine and this Python have.

    Args:
        on_part: called before each process with the part's name.
        seconds: how long to measure.

    Raises:
        UsageError: a measuring process failed.
    """
    costs: dict[str, Costs] = {}
    versions: dict[str, str] = {}
    clock = ""
    with tempfile.TemporaryDirectory(prefix="rlscope-calibrate-") as directory:
        for key, part in PARTS.items():
            found = []
            for number in range(PROCESSES):
                on_part(key)
                trace = Path(directory, f"{key.replace('/', '-')}-{number}")
                measured = _run(key, seconds * part.share / PROCESSES, trace)
                if measured.missing:
                    break
                versions |= measured.versions
                swept = sweep_trace(open_trace(trace))
                clock = swept.processes[0].file.clock_kind.name.lower()
                found.append(process_costs(measured, swept, is_operation=key.startswith("operation")))
            if found:
                costs[key] = costs_of(found)
    return Calibration(this_environment(clock), now(), versions, _generalized(costs))


def _run(key: str, seconds: float, trace: Path) -> Measured:
    """One process of a part, which finds the same modules as this one wherever it is run."""
    command = [sys.executable, "-m", "rlscope.calibration.workload", key, str(seconds), str(trace)]
    package = str(Path(__file__).resolve().parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([package, *sys.path[1:]])}
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=trace.parent, check=False)
    if finished.returncode != 0:
        said = (finished.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise UsageError(f"the costs of {key} were expected, but the process that measures them failed: {said}; "
                         f"run {' '.join(command)}")  # fmt: skip
    document: dict[str, Any] = json.loads(finished.stdout)
    for name in ("on_ns", "probes_off_ns", "probes_on_ns"):
        document[name] = {int(key): lengths for key, lengths in document[name].items()}
    return Measured(**document)


def process_costs(measured: Measured, swept: TraceSweep, is_operation: bool) -> ProcessCosts:
    """Costs per event out of the lengths of blocks.

    A recorded block is compared with the two around its recording, so that what changes slowly cancels.
    """
    events = _events(swept, is_operation)
    if measured.probes_on_ns:
        events -= sum(PROBES.values())
    per_block = events / measured.recorded_iterations * measured.iterations
    off = np.array(measured.off_ns, dtype=float)
    on = {times: np.array(lengths, dtype=float).mean(axis=1) for times, lengths in measured.on_ns.items()}
    added = (on[1] - off.mean(axis=1)) / per_block
    low, high = sorted(measured.on_ns)[-2:]
    repeated = (on[high] - on[low]) / (high - low) / per_block
    recorded = np.array(measured.on_ns[1], dtype=float).ravel()
    variance = (_robust_variance(recorded) - _robust_variance(off.ravel())) / per_block
    grown = {gap: np.array(lengths) - measured.probes_off_ns[gap] for gap, lengths in measured.probes_on_ns.items()}
    return ProcessCosts(
        added, repeated, _share_inside(swept, is_operation, str(low), str(high)),
        {gap: more - grown[0] for gap, more in grown.items() if gap > 0}, variance,
        round(events * len(swept.processes)),
    )  # fmt: skip


def _events(swept: TraceSweep, is_operation: bool) -> float:
    """Events of each recording, without the phases, with the probes."""
    found = [process.found for process in swept.processes]
    events = sum(each["events"]["operation"] if is_operation else sum(each["crossings"].values()) for each in found)
    return events / len(found)


def _share_inside(swept: TraceSweep, is_operation: bool, low: str, high: str) -> float:
    """How much of a record's repeated work lies within the recorded intervals, from how much longer these become.

    Of n events, of which d lie directly in another one, what lies inside a repeats makes the time in events longer by
    n a + d b and the time in none by (n - d) b, with b what lies outside.
    """
    within = {low: 0, high: 0}
    outside = {low: 0, high: 0}
    events = entries = 0
    for process in swept.processes:
        found = process.found
        for phase, _, operation, category, _, ticks in found["breakdown"]:
            if phase not in within:
                continue
            is_within = operation != "(none)" if is_operation else category != "python"
            (within if is_within else outside)[phase] += ticks
        events += found["events"]["operation"] if is_operation else sum(found["crossings"].values())
        entries += sum(row[-1] for row in found["transitions"])
    nested = 0.0 if is_operation or not events else 1 - entries / events
    longer_within = within[high] - within[low]
    longer_outside = outside[high] - outside[low]
    b = longer_outside / (1 - nested) if nested < 1 else 0.0
    a = longer_within - nested * b
    return float(np.clip(a / (a + b), 0, 1)) if a + b > 0 else 0.5


def _robust_variance(lengths: Numbers) -> float:
    """From the quartiles, as of a normal distribution."""
    low, high = np.percentile(lengths, [25, 75])
    return float(((high - low) / 1.349) ** 2)


def costs_of(processes: list[ProcessCosts]) -> Costs:
    """Costs out of several processes', with intervals of 95 % by resampling processes, and cycles in them.

    What an event costs is how much longer recorded blocks are, but never less than what repeating the work of its
    records takes, which is measured more exactly: then everything is in the processor's caches. What lies inside is
    that work's share; all else lies outside. To that comes what single events cost more after longer gaps, which lies
    outside too; each holds from the (geometric) middle between its gap and the one before it.
    """
    random = np.random.default_rng(1)
    resampled = [_resampled(processes, random) for _ in range(RESAMPLES)]
    total, inside = _mean_cost(processes)
    low, high = np.percentile([_mean_cost(each)[0] for each in resampled], [2.5, 97.5])
    share = inside / total if total > 0 else 0.0
    near = Bounds(min(low, total), total, max(high, total))
    # Of so small a difference of two large variances, only what all processes agree on is more than noise.
    variance = max(0.0, min(process.variance for process in processes))
    costs = [_cost(0.0, near, share, ZERO, variance, processes)]
    gap_before = NEAR_GAP_NS
    for gap in sorted(processes[0].growth):
        more = _growth(processes, gap)
        low, high = np.percentile([_growth(each, gap) for each in resampled], [2.5, 97.5])
        later = Bounds(min(low, more), more, max(high, more))
        costs.append(_cost(float(np.sqrt(gap_before * gap)), near, share, later, variance, processes))
        gap_before = gap
    return tuple(costs)


def _cost(
    from_gap_ns: float, near: Bounds, share: float, later: Bounds, variance: float, processes: list[ProcessCosts]
) -> Cost:
    # Their errors are not related, so they add up as squares.
    below = float(np.hypot(near.mean - near.low, later.mean - later.low))
    above = float(np.hypot(near.high - near.mean, later.high - later.mean))
    mean = near.mean + later.mean
    inside = Bounds(near.low * share, near.mean * share, near.high * share)
    outside = mean - inside.mean
    # What is not sure about the whole and not about the part inside is not sure about the part outside.
    outside_low = max(0.0, outside - max(0.0, below - (inside.mean - inside.low)))
    outside_high = outside + above - (inside.high - inside.mean)
    return Cost(
        from_gap_ns=from_gap_ns,
        inside_ns=inside,
        outside_ns=Bounds(outside_low, outside, outside_high),
        # Costs spread by at least as much as they are: one in a hundred is several times the usual one.
        std_ns=max(float(np.sqrt(variance)), mean),
        events=sum(process.events for process in processes),
    )


def _mean_cost(processes: list[ProcessCosts]) -> tuple[float, float]:
    """Of an event: all of it, and its part inside."""
    added = float(np.mean([np.median(process.added) for process in processes]))
    repeated = max(0.0, float(np.mean([np.median(process.repeated) for process in processes])))
    share_inside = float(np.mean([process.share_inside for process in processes]))
    return max(added, repeated), repeated * share_inside


def _growth(processes: list[ProcessCosts], gap: int) -> float:
    """Events after a longer gap do not cost less."""
    return max(0.0, float(np.mean([np.median(process.growth[gap]) for process in processes])))


def _resampled(processes: list[ProcessCosts], random: np.random.Generator) -> list[ProcessCosts]:
    chosen = [processes[place] for place in random.integers(len(processes), size=len(processes))]
    resampled = []
    for process in chosen:
        cycles = random.integers(len(process.added), size=len(process.added))
        growth = {gap: more[cycles] for gap, more in process.growth.items()}
        resampled.append(
            replace(process, added=process.added[cycles], repeated=process.repeated[cycles], growth=growth)
        )
    return resampled


def _generalized(costs: dict[str, Costs]) -> dict[str, Costs]:
    """With costs for what was not measured: of its kind, as uncertain as those measured of that kind differ."""
    general = dict(costs)
    for kind in ("operation", "boundary"):
        measured = [each for key, each in costs.items() if key.partition("/")[0] == kind]
        if measured:
            general[kind] = tuple(_spanned(of_gap) for of_gap in zip(*measured, strict=True))
    return general


def _spanned(measured: tuple[Cost, ...]) -> Cost:
    return Cost(
        measured[0].from_gap_ns,
        _spanned_bounds([cost.inside_ns for cost in measured]),
        _spanned_bounds([cost.outside_ns for cost in measured]),
        max(cost.std_ns for cost in measured),
        sum(cost.events for cost in measured),
    )


def _spanned_bounds(measured: list[Bounds]) -> Bounds:
    return Bounds(
        min(bounds.low for bounds in measured),
        float(np.mean([bounds.mean for bounds in measured])),
        max(bounds.high for bounds in measured),
    )
