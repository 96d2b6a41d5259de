"""This file makes the rows of `rlscope top`: what each process does, and how fast the training goes on."""

from __future__ import annotations

from collections.abc import Iterable

from rlscope.analysis.rows import Row, Rows, sums
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.swept import SweptTraining
from rlscope.analysis.table_rows import BreakdownRow, WaitRow
from rlscope.analysis.tables.dependencies import dependency_rows, wait_rows
from rlscope.analysis.tables.loop import loops_of
from rlscope.analysis.tables.processes import parents
from rlscope.model import CALL_CATEGORIES, CATEGORIES, NS_PER_S, Category

#: A process that waits for less of its time waits for nobody.
LEAST_WAIT = 0.01
#: A process that has not written for so long is silent.
SILENT_S = 5.0
#: Reports that lie closer together do not say how fast it goes on.
LEAST_SPAN_S = 2.5


class LiveProcess(Row):
    """This is what a process did in the window.

    Attributes:
        process: A name that is unique in the trace.
        pid: Its number on its machine.
        parent: Its parent's name, if that was recorded.
        has_ended: Whether it ended, or its recording did.
        seconds: How much of the window it lived.
        stage: The stage with most of that.
        python_s: Of that, time in Python.
        simulator_s: In a simulator.
        backend_s: In an ML library's native code.
        cuda_s: In calls of CUDA.
        wait_s: Waiting.
        native_s: In native code that no library's file knows.
        no_core_s: Ready to run, without a core.
        crossings_per_s: How many calls between layers began in a second.
        waits_for: The process that it waited for longest; without one the function; "" if it hardly waited.
        silent_s: How long ago its last record was written, at the end of the window.
    """

    process: str
    pid: int
    parent: str | None
    has_ended: bool
    seconds: float
    stage: str
    python_s: float
    simulator_s: float
    backend_s: float
    cuda_s: float
    wait_s: float
    native_s: float
    no_core_s: float
    crossings_per_s: float
    waits_for: str
    silent_s: float


class Rates(Row):
    """This says how fast the training goes on, by the process whose training has most iterations; None is not known.

    Attributes:
        iterations_per_s: Between the first and the last report, as the next; None if these are less than 2.5 s apart.
        timesteps_per_s: The same of timesteps.
        timesteps: Those of the last report.
        total_timesteps: Of the whole training.
        remaining_s: How long the rest takes at this rate.
    """

    iterations_per_s: float | None = None
    timesteps_per_s: float | None = None
    timesteps: int | None = None
    total_timesteps: int | None = None
    remaining_s: float | None = None


def live_processes(swept: TraceSweep, breakdown: Rows[BreakdownRow], end_ns: int) -> Rows[LiveProcess]:
    """Make one row per process that has time in a window.

    Args:
        swept: The window.
        breakdown: Its breakdown.
        end_ns: Where it ends, in nanoseconds since 1970.
    """
    by_category = sums(((row.process, row.category), row.seconds) for row in breakdown)
    stages: dict[str, tuple[float, str]] = {}
    for (name, stage), of in sums(((row.process, row.stage), row.seconds) for row in breakdown).items():
        stages[name] = max(stages.get(name, (0.0, stage)), (of, stage))
    waited_for = _waited_for(swept)
    rows = []
    for process, parent in zip(swept.processes, parents(swept.processes), strict=True):
        found, file = process.found, process.file
        seconds = process.length_ns(found.end_ticks - found.start_ticks) / NS_PER_S
        if seconds <= 0:
            continue
        seconds_of = {f"{label}_s": by_category.get((process.name, label), 0.0) for label in CATEGORIES}
        waits = by_category.get((process.name, Category.WAIT.label), 0.0) >= LEAST_WAIT * seconds
        rows.append(
            LiveProcess(
                process=process.name,
                pid=file.header.pid,
                parent=parent,
                has_ended=bool(file.header.stop_ticks or process.ended_by),
                seconds=seconds,
                stage=stages[process.name][1],
                **seconds_of,
                crossings_per_s=sum(found.events[label] for label in CALL_CATEGORIES) / seconds,
                waits_for=waited_for.get(process.name, "") if waits else "",
                silent_s=max(end_ns - file.clock.realtime_ns(found.last_record_ticks), 0) / NS_PER_S,
            )
        )
    return Rows(LiveProcess, rows)


def _waited_for(swept: TraceSweep) -> dict[str, str]:
    """Return the function that each process waited in longest, or the process at the other end if that is known."""
    waits = wait_rows(swept, loops_of((), ()))  # of a window, of which nobody asks where a loop is
    boots = {process.name: process.file.header.boot_id for process in swept.processes}
    ends: dict[tuple[str, str], list[tuple[str, float]]] = {}  # of a process's stream
    for edge in dependency_rows(waits, boots):
        ends.setdefault((edge.process, edge.stream), []).append((edge.on, edge.wait_s))
    by_function: dict[tuple[str, str], list[WaitRow]] = {}
    for row in waits:
        by_function.setdefault((row.process, row.function), []).append(row)
    longest: dict[str, tuple[float, str]] = {}
    for (process, function), rows in by_function.items():
        others = sums(end for row in rows for end in ends.get((process, row.stream), ()))
        name = max(others, key=lambda on: others[on], default=function)
        longest[process] = max(longest.get(process, (0.0, "")), (sum(row.wait_s for row in rows), name))
    return {process: name for process, (_, name) in longest.items()}


def rates_of(progress: Iterable[tuple[ProcessSweep, SweptTraining]]) -> Rates:
    """Return the rates between the first report and the last of the process that has most iterations."""
    process, reports = max(progress, key=lambda item: item[1].iterations, default=(None, None))
    if process is None or reports is None:
        return Rates()
    seconds = process.length_ns(reports.last_ticks - reports.first_ticks) / NS_PER_S
    total = reports.total_timesteps or None
    if seconds < LEAST_SPAN_S:
        return Rates(None, None, reports.last_timesteps, total)
    # The first report ends an iteration that began before it, unless it only says where counting starts.
    iterations = reports.iterations - (reports.baseline_timesteps is None)
    timesteps_per_s = (reports.last_timesteps - reports.first_timesteps) / seconds
    remaining_s = None
    if total is not None and timesteps_per_s > 0:
        remaining_s = max(total - reports.last_timesteps, 0) / timesteps_per_s
    return Rates(iterations / seconds, timesteps_per_s, reports.last_timesteps, total, remaining_s)
