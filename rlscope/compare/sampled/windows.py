"""This file reads the iterations of a run that `rlscope record --every` has recorded, one in each window."""

from collections import Counter
from pathlib import Path

from rlscope.analysis.sweep import ProcessSweep, sweep_trace
from rlscope.analysis.tables.calls import detail_of
from rlscope.compare.recorded import iterating, iterations_in
from rlscope.compare.sampled.whole_run import Part, WholeRun, as_series, whole_run
from rlscope.errors import TraceError
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.reader import Trace, open_trace
from rlscope.trace.windows import windows_in


def sampled_traces(run: Path, recover: bool) -> list[Trace]:
    """Return the traces in which an iteration was recorded, or is now."""
    folders = [run / name for name in windows_in(run)]
    return [open_trace(folder, recover) for folder in folders if any(folder.glob(f"*{PROCESS_FILE_SUFFIX}"))]


def estimated_run(run: Path, traces: list[Trace], recover: bool) -> WholeRun:
    """Estimate the run whose windows these are.

    Raises:
        TraceError: no iteration is in any of them.
    """
    iterations = []
    count = 0
    for trace in traces:
        process = iterating(sweep_trace(trace, recover, bins=0))
        for number, iteration in enumerate(_iterations_of(process)):
            iterations.append(iteration)
            count = _iterations_before(process) + number + 1
    if not iterations:
        raise TraceError(
            f"an iteration was expected in the windows of {run}, but none is complete yet; look again later, "
            "or record one of fewer iterations with a smaller --every"
        )
    return whole_run(as_series(iterations), max(count, len(iterations)))


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
