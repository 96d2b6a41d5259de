"""This file opens and analyzes the traces that a verb is given, behind a progress bar."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click

from rlscope.analysis.analysis import Analysis, analyze
from rlscope.calibration.calibration import chosen
from rlscope.cli.progress import reading_bar
from rlscope.errors import RLScopeError
from rlscope.model import GpuAttribution
from rlscope.record.config import RecordConfig
from rlscope.report.sentences import NOT_COMPARABLE
from rlscope.text import encodable, printable
from rlscope.trace.manifest import overwritten, read_manifest
from rlscope.trace.reader import open_trace, troubles_of
from rlscope.trace.windows import REQUESTS_NAME, windows_in


def analyze_traces(
    directories: Sequence[Path],
    recover: bool,
    correct: str,
    by_thread: bool = False,
    gpu_attribution: GpuAttribution = GpuAttribution.LAUNCH,
    by_function: bool = False,
) -> dict[str, Analysis]:
    """Analyze the traces, each under the shortest end of its path that tells it from the others."""
    traces = {name: open_trace(path, recover) for name, path in zip(names(directories), directories, strict=True)}
    with reading_bar("analyzing", traces.values()):
        return {
            name: analyze(trace, recover, by_thread, gpu_attribution, chosen(trace, correct), by_function)
            for name, trace in traces.items()
        }


class WindowTraces(NamedTuple):
    """A run that is recorded in windows, each of them a trace.

    Attributes:
        windows: They, the first one first.
        title: How many these are.
        notes: What is missing of the run, and what is wrong with it now, one sentence each.
    """

    windows: list[Path]
    title: str
    notes: list[str]


def job_of(run: Path) -> WindowTraces | None:
    """Return the windows of a run; None where the directory is none that is recorded in windows, or has none yet."""
    if not (run / REQUESTS_NAME).exists():
        return None
    windows = [run / name for name in windows_in(run)]
    if not windows:
        return None
    from rlscope.monitor.windows.kept_windows import slow_windows  # which a trace does not need

    notes = [f"Now {sentence}." for sentence in troubles_of(run)]
    gone = overwritten(read_manifest(run))
    if gone is not None and gone[0]:
        notes.insert(0, f"{gone[0]:,} windows before them were overwritten.")
    if slow := [name for name in slow_windows(run) if run / name in windows]:
        notes.insert(0, f"A slow iteration is in {', '.join(slow)}.")
    return WindowTraces(windows, f"{len(windows)} windows of {run}", notes)


def is_sampled(run: Path) -> bool:
    """Tell whether `rlscope record --every` has recorded a run, not a window of it."""
    with suppress(OSError, ValueError, RLScopeError):  # `open_trace` says what is wrong
        return RecordConfig.load(run).every is not None
    return False


def names(directories: Sequence[Path]) -> list[str]:
    """Return the shortest ends of the paths that are all different; a directory given twice gets a number."""
    paths = [Path(encodable(os.path.realpath(directory))) for directory in directories]
    for length in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        ends = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(ends)) == len(ends):
            return ends
    return [f"{path.name} ({number})" for number, path in enumerate(paths, start=1)]


def warn_of_counters(analyses: Iterable[Analysis]) -> None:
    """Say on standard error which runs have counters, for verbs whose output has no place for it."""
    for analysis in analyses:
        if analysis.counter_runs is not None:
            click.echo(printable(f"{analysis.directory}: {NOT_COMPARABLE}"), err=True)
