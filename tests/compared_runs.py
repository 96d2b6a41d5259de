"""Runs whose comparison is known beforehand: traces of a loop, in which each part takes as long as is asked for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trace_builder import Absent, End, ProcessScript, Progress, ThreadScript, boundary, operation, phase, write_scripts

from rlscope.compare.comparable import sides_of
from rlscope.compare.comparison import Comparison, compare
from rlscope.compare.folders import open_runs, read_runs
from rlscope.compare.run_times import Unit
from rlscope.model import Category
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.format import FileHeader

US = 1000
#: What an iteration does: stage, layer, function, microseconds; 1 ms more is in Python.
PARTS = (
    ("simulation", Category.SIMULATOR, "gymnasium.step", 3000),
    ("inference", Category.BACKEND, "torch.linear", 2000),
    ("backpropagation", Category.BACKEND, "torch.addmm", 4000),
)
#: As a function of `more`: how many microseconds of that Python a thread has no core, 1000 at most.
NO_CORE = "no core"


def loop(
    lengths: Sequence[Mapping[str, int]],
    steps: int = 1,
    evaluated: Sequence[int] = (),
    reports: bool = True,
    start_up: int = 0,
) -> ProcessScript:
    """Iterations of 10 ms; `lengths` says of each how many microseconds functions take more.

    Args:
        lengths: as many as there are iterations.
        steps: timesteps of an iteration.
        evaluated: iterations within which a policy is evaluated for 50 ms.
        reports: whether progress is reported.
        start_up: microseconds before the first one.
    """
    thread, now = ThreadScript(0, 0), start_up * US
    if reports:
        thread.statements.append(Progress(now, 0, 0, is_baseline=True))
    for number, more in enumerate(lengths):
        for stage, category, function, length in PARTS:
            thread.statements += [operation(now, stage), boundary(now, category, function)]
            now += (length + more.get(function, 0)) * US
            thread.statements += [End(now), End(now)]
        if number in evaluated:
            thread.statements.append(phase(now, "evaluation"))
            now += 50_000 * US
            thread.statements.append(End(now))
        now += 1000 * US
        if queued := more.get(NO_CORE, 0):
            thread.statements.append(Absent(now, queued=queued * US))
        if reports:
            thread.statements.append(Progress(now, (number + 1) * steps, 0))
    return ProcessScript(0, now, threads=[thread])


def write_run(
    path: Path, script: ProcessScript, start_s: int = 0, others: Sequence[ProcessScript] = (), **manifest: object
) -> Path:
    """A trace as `rlscope record` leaves it: begun at `start_s`, for a second; `others` are processes beside it."""
    write_scripts([script, *others], path)
    found: dict[str, object] = {"main_pid": 1, "exit_status": 0, "complete": True}
    for key, time_s in (("start", start_s), ("end", start_s + 1)):
        found[key] = {"monotonic_ns": 0, "realtime_ns": (1000 + time_s) * 10**9}
    (path / "manifest.json").write_text(json.dumps(found | manifest))
    return path


def of_version(trace: Path, version: int) -> None:
    """Make the process files of a trace those of an older version, which may have no record that it did not know."""
    for path in trace.glob(f"*{PROCESS_FILE_SUFFIX}"):
        data = path.read_bytes()
        header = replace(FileHeader.unpack(data), format_version=version).pack()
        path.write_bytes(header + data[len(header) :])


def write_side(folder: Path, more: Sequence[Mapping[str, int]], first_s: int = 0, iterations: int = 5) -> Path:
    """A folder of runs, every other second; each entry of `more` is a run, of which all iterations are alike."""
    for number, each in enumerate(more):
        write_run(folder / f"run-{number + 1}", loop([each] * iterations), first_s + 2 * number)
    return folder


def compared(*paths: Path, unit: Unit | None = None, same_percent: float = 2.0) -> Comparison:
    """What `rlscope compare` finds of two sides, under the names of their folders."""
    base, other = sides_of({path.name: read_runs(open_runs(path)) for path in paths}, unit)
    return compare(base, other, same_percent)
