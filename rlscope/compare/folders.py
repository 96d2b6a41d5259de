"""This file finds the runs of a side: a trace is one run, a folder or a baseline holds several."""

from collections.abc import Sequence
from pathlib import Path

from rlscope.compare.baseline import read_baseline
from rlscope.compare.recorded import recorded
from rlscope.compare.run_times import RunTimes
from rlscope.compare.timings import TIMINGS_NAME, read_timings
from rlscope.errors import TraceError
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.manifest import MANIFEST_NAME
from rlscope.trace.reader import Trace, open_trace


def open_runs(path: Path, recover: bool = False) -> list[Trace | RunTimes]:
    """Return the runs of a side: one trace, or all that lie in a folder. Of others there are times only.

    Raises:
        TraceError: there are none.
    """
    if path.is_file():
        return [*read_baseline(path)]
    if (path / TIMINGS_NAME).is_file():
        return [*read_timings(path / TIMINGS_NAME)]
    if not path.is_dir() or _is_trace(path):
        return [open_trace(path, recover)]
    inside = sorted((folder for folder in path.iterdir() if folder.is_dir() and _is_trace(folder)), key=_number)
    if not inside:
        raise TraceError(
            f"a trace, or a folder of traces or times, was expected at {path}, but it holds none; "
            f"`rlscope bench -n 5 -o {path} -- COMMAND` makes them"
        )
    return [open_trace(folder, recover) for folder in inside]


def read_runs(runs: Sequence[Trace | RunTimes], recover: bool = False) -> list[RunTimes]:
    """Return the times of opened runs."""
    return [run if isinstance(run, RunTimes) else recorded(run, recover) for run in runs]


def _is_trace(path: Path) -> bool:
    return (path / MANIFEST_NAME).exists() or any(path.glob(f"*{PROCESS_FILE_SUFFIX}"))


def _number(path: Path) -> tuple[int, str]:
    """Return what sorts run-10 behind run-9."""
    return len(path.name), path.name
