"""This file reads the iterations of a run that `rlscope record --every` has recorded, one in each window."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rlscope.analysis.sweep import ProcessSweep, TraceSweep, sweep_trace
from rlscope.analysis.tables.calls import detail_of
from rlscope.compare.recorded import iterations_in
from rlscope.compare.sampled.whole_run import Part, WholeRun, as_series, whole_run
from rlscope.errors import TraceError, TraceFormatError
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.manifest import read_manifest, read_unrecorded
from rlscope.trace.reader import Trace, open_trace, troubles_of
from rlscope.trace.windows import windows_in

T = TypeVar("T")


@dataclass
class Sample:
    """The windows of a run.

    Attributes:
        run: Its directory.
        manifest: What it says of itself.
        traces: Those in which something was recorded, or is now.
        damaged: The names of those that are damaged, as far as that has been seen.
        why: What is missing, one sentence each, as far as that has been seen.
    """

    run: Path
    manifest: dict[str, Any]
    traces: list[Trace]
    damaged: list[str]
    why: list[str]

    @property
    def windows(self) -> int:
        """Return how many there are, readable or not."""
        return len({trace.directory.name for trace in self.traces} | set(self.damaged))


def open_sample(run: Path, recover: bool) -> Sample:
    """Open the windows of a run.

    Args:
        run: Its directory.
        recover: Leave out what is damaged, and say so, rather than raise.

    Raises:
        TraceFormatError: a file is damaged.
    """
    sample = Sample(run, {}, [], [], [*troubles_of(run), *read_unrecorded(run)])
    try:
        sample.manifest = read_manifest(run)
        sample.why += _not_sampled(sample.manifest)
        if sample.manifest.get("complete") is not True:
            sample.why.append("the manifest is not complete: `rlscope record` was killed or is still running")
    except TraceFormatError as error:
        if not recover:
            raise
        sample.why.append(str(error))
    for name in windows_in(run):
        if not any((run / name).glob(f"*{PROCESS_FILE_SUFFIX}")):
            sample.why += [f"{name}: {reason}" for reason in read_unrecorded(run / name)]
            continue
        try:
            trace = _found(sample, name, recover, partial(open_trace, run / name))
        except TraceFormatError:
            raise
        except TraceError as error:
            sample.why.append(f"{name}: {error}")
            trace = None
        if trace is not None:
            sample.traces.append(trace)
    return sample


def _found(sample: Sample, name: str, recover: bool, find: Callable[[bool], T]) -> T | None:
    """Find something in a window; one that is damaged is noted, and None if nothing of it can be used.

    Args:
        sample: The window is one of.
        name: Of the window.
        recover: Leave out what is damaged rather than raise.
        find: Finds it, stepping over damage or not.
    """
    try:
        return find(False)
    except TraceFormatError:
        if not recover:
            raise
    if name not in sample.damaged:
        sample.damaged.append(name)
    try:
        return find(True)
    except TraceError as error:
        sample.why.append(f"{name}: {error}")
        return None


def estimated_run(sample: Sample, recover: bool) -> WholeRun:
    """Estimate the run whose windows these are.

    Raises:
        TraceError: no iteration is in any of them.
        TraceFormatError: a file is damaged, and `recover` is off.
    """
    iterations = []
    numbers = []
    for trace in sample.traces:
        swept = _found(sample, trace.directory.name, recover, partial(sweep_trace, trace, bins=0))
        if swept is None:
            continue
        sample.why += [f"{trace.directory.name}: {reason}" for reason in swept.why]
        process = iterating(swept)
        for number, iteration in enumerate(_iterations_of(process)):
            iterations.append(iteration)
            numbers.append(_iterations_before(process) + number + 1)
    if damaged := [name for name in windows_in(sample.run) if name in sample.damaged]:
        sample.why.insert(0, f"{len(damaged)} of {sample.windows} windows are damaged: {', '.join(damaged)}")
    if not iterations:
        missing = "".join(f"; {reason}" for reason in sample.why)
        raise TraceError(
            f"an iteration was expected in the windows of {sample.run}, but none is complete yet; look again later, "
            f"or record one of fewer iterations with a smaller --every{missing}"
        )
    count = max(*numbers, len(iterations), _iterations_reported(sample.manifest))
    found = whole_run(as_series(iterations), count)
    return replace(found, windows=sample.windows, damaged=tuple(damaged), why=tuple(sample.why))


def iterating(swept: TraceSweep) -> ProcessSweep:
    """Return the process that reported most iterations; without any, the main one."""
    return max(swept.processes, key=lambda process: (len(detail_of(process).iteration_starts), process.file.is_main))


def _iterations_of(process: ProcessSweep) -> list[Counter[Part]]:
    """Return how long each iteration was in which stage and category, in seconds."""
    detail, second = detail_of(process), process.seconds_per_tick
    if not detail.iteration_starts:
        return []
    entries = iterations_in(detail)
    found: list[Counter[Part]] = [Counter() for _ in range(entries.kept)]
    for iteration, place, ticks in zip(entries.iteration, entries.place, entries.ticks, strict=True):
        function = detail.functions[place]
        found[iteration][function.stage, function.category] += float(ticks) * second
    return found


def _iterations_before(process: ProcessSweep) -> int:
    before = process.found.properties.get("iterations_before")
    return before if isinstance(before, int) else 0


def _iterations_reported(manifest: dict[str, Any]) -> int:
    """Return how many iterations the program has made, as far as `rlscope record` has noted that."""
    count = manifest.get("iterations")
    return count if isinstance(count, int) and 0 <= count < 1 << 62 else 0


def _not_sampled(manifest: dict[str, Any]) -> list[str]:
    """Return which iterations could not be recorded, though it was their turn."""
    gaps = manifest.get("not_sampled")
    found = []
    for gap in gaps if isinstance(gaps, list) else []:
        if isinstance(gap, dict) and isinstance(first := gap.get("first"), int) and isinstance(gap.get("last"), int):
            which = f"iterations {first:,} to {gap['last']:,}" if gap["last"] > first else f"iteration {first:,}"
            found.append(f"{which} could not be recorded: {gap.get('why')}")
    return found
