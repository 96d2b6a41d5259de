"""This file measures what recording costs as published: by whole runs of a program, with one kind of recording each.

From "RL-Scope" (2021), for comparison with `measure`. It takes as many times as long as the program, a run more differs
from the one before by more than recording adds to it, and it tells nothing of where in an event the cost lies.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.correction.costs import ZERO, Bounds, Cost
from rlscope.analysis.sweep import sweep_trace
from rlscope.calibration.calibration import Calibration, conditions_of_trace, now
from rlscope.calibration.run_to_end import run_to_end
from rlscope.errors import UsageError
from rlscope.text.numbers import duration
from rlscope.trace.reader import open_trace

#: By the kind of events whose cost a run shows: how it is recorded. The first is what the others are compared with.
CONFIGURATIONS = {
    "uninstrumented": ("--layers", "", "--no-auto"),
    "operation": ("--layers", ""),
    "boundary": ("--layers", "simulator,backend", "--no-auto"),
    "cuda": ("--layers", "cuda", "--no-auto"),
}
UNINSTRUMENTED = "uninstrumented"


@dataclass(frozen=True)
class WholeRun:
    """One run of the program.

    Attributes:
        length_ns: from its start to its end.
        events: that it recorded, by kind.
    """

    length_ns: int
    events: Mapping[str, int]


def calibrate_whole_runs(
    command: Sequence[str], repetitions: int, directory: Path, on_run: Callable[[], None]
) -> tuple[Calibration, dict[str, str]]:
    """Run the program under each configuration, and that as often as asked for.

    Args:
        command: the program.
        repetitions: of each configuration.
        directory: for the traces.
        on_run: called after each run.

    Returns:
        The calibration, and of each kind that it lacks, why.

    Raises:
        UsageError: the program ended with an error.
    """
    runs: dict[str, list[WholeRun]] = {kind: [] for kind in CONFIGURATIONS}
    for repetition in range(repetitions):
        for kind, options in CONFIGURATIONS.items():
            trace = directory / f"{kind}_repetition_{repetition}"
            _record(command, options, trace)
            runs[kind].append(whole_run(trace))
            on_run()
    costs: dict[str, Cost] = {}
    missing: dict[str, str] = {}
    for kind in list(runs)[1:]:
        found = cost_of(runs[kind], runs[UNINSTRUMENTED], kind)
        if isinstance(found, Cost):
            costs[kind] = found
        else:
            missing[kind] = found
    first = open_trace(directory / f"{UNINSTRUMENTED}_repetition_0")
    made_on = conditions_of_trace(first.manifest, first.processes[0].clock_kind.name.lower())
    return Calibration(made_on, now(), {}, costs), missing


def _record(command: Sequence[str], options: Sequence[str], trace: Path) -> None:
    recorder = [sys.executable, "-m", "rlscope", "record", "-o", str(trace), *options, "--", *command]
    finished = run_to_end(recorder)
    if finished.returncode != 0:
        lines = [line for line in finished.stderr.splitlines() if line.strip() and not line.startswith("rlscope:")]
        said = (lines or ["nothing was said"])[-1]
        raise UsageError(f"{' '.join(command)} was expected to end well, but it ended with the exit status "
                         f"{finished.returncode}: {said}; give a command that ends by itself")  # fmt: skip


def whole_run(trace_directory: Path) -> WholeRun:
    """Return what a run took and recorded."""
    trace = open_trace(trace_directory)
    ends: list[Mapping[str, Any]] = [trace.manifest["start"], trace.manifest["end"]]
    events = dict.fromkeys(CONFIGURATIONS, 0)
    for process in sweep_trace(trace, correction=Correction({}, "", {})).processes:
        found = process.found.correction
        assert found is not None
        for key, count in found.uncalibrated.items():
            kind, _, name = key.partition("/")
            events[kind] += count if name else 0
    return WholeRun(ends[1]["monotonic_ns"] - ends[0]["monotonic_ns"], events)


def cost_of(recorded: Sequence[WholeRun], uninstrumented: Sequence[WholeRun], kind: str) -> Cost | str:
    """Return the mean over the repetitions of how much longer the recorded run was, by the event; or why there is none.

    A repetition is compared with the one of the same number, as published, though they have nothing in common. The
    interval is from the least to the most of them.
    """
    events = [run.events[kind] for run in recorded]
    if 0 in events:
        return "the program has no such events"
    each = [
        (run.length_ns - other.length_ns) / count
        for run, other, count in zip(recorded, uninstrumented, events, strict=True)
    ]
    mean = sum(each) / len(each)
    if mean <= 0:
        return f"the runs in which they were recorded were shorter, by {duration(-mean / 1e9)} for each event"
    return Cost(ZERO, ZERO, Bounds(max(0.0, min(each)), mean, max(each)), sum(events))
