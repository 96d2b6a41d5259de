"""The breakdown and the transitions of a trace as tables."""

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rlscope.analysis.advice import advise
from rlscope.analysis.correction import AppliedCorrection, Corrected, CorrectedProcess, Correction, removed_s
from rlscope.analysis.counters import CounterRuns, counters_of
from rlscope.analysis.dependencies import dependencies_table, waits_table
from rlscope.analysis.device_timeline import busy_parts, device_timeline_table
from rlscope.analysis.devices import devices_of
from rlscope.analysis.gpu import GPU_COLUMNS, device_work_table, gpu_operations_table, gpu_table
from rlscope.analysis.loop import evaluation_seconds, outside_table
from rlscope.analysis.machines_table import machines_table
from rlscope.analysis.owner_path import owner_path
from rlscope.analysis.processes import parents, phases_table
from rlscope.analysis.sweep import NS_PER_S, ProcessSweep, TraceSweep, own_correction, sweep_trace
from rlscope.analysis.tasks import misnested_operations, tasks_table
from rlscope.analysis.utilization import Utilization
from rlscope.errors import UsageError
from rlscope.model import GpuAttribution
from rlscope.trace.reader import Trace

SCHEMA = 1
CORRECTED = ("corrected_seconds", "corrected_low_s", "corrected_high_s")
CORRECTED_WALL = ("corrected_wall_s", "corrected_wall_low_s", "corrected_wall_high_s")
UNCORRECTABLE = "uncorrectable_s"
NO_CALIBRATION = "no calibration was given"
BREAKDOWN_KEYS = ("process", "phase", "stage", "operation", "category", "resource")
THREAD_KEYS = ("process", "thread", *BREAKDOWN_KEYS[1:])
TRANSITION_KEYS = ("process", "stage", "operation", "from", "to")
PROCESS_COLUMNS = (
    "process", "machine", "pid", "parent_pid", "parent", "role", "exit_status", "complete", "start_s", "end_s",
    "wall_s", *CORRECTED_WALL, UNCORRECTABLE, "iterations", "threads_in_operations", "beside_s",
)  # fmt: skip
TRANSITION_COLUMNS = (*TRANSITION_KEYS, "count", "per_iteration", "per_timestep")


@dataclass(frozen=True)
class Analysis:
    """What `rlscope analyze` shows. Tables are not to be changed in place.

    Attributes:
        directory: the trace.
        processes: one row per process: `process` (unique name), `machine`, `pid`, `parent_pid` (of a recorded parent),
            `parent` (its name, None without one), `role`, `exit_status`, `complete`, `start_s`, `end_s` (from the start
            of the first process), `wall_s`, the corrected wall time with its interval, `uncorrectable_s`, overhead
            that could not be removed, `iterations` that it reported, `threads_in_operations`, how many had any of their
            own, and `beside_s`, in which two or more of these were busy: in one, and not waiting for another thread.
        breakdown: one row per `process`, `phase`, `stage`, `operation`, `category`, `resource`: `seconds`, and the
            corrected seconds with their interval; these are NaN without a correction. The seconds of a process sum to
            its `wall_s`, the corrected ones to its `corrected_wall_s`.
        outside: its rows in no operation and no phase once more, one per `process`, `part`, `category` and `resource`:
            `seconds` `before` the training loop, `in` it or `after` it.
        threads: each thread's own view, with the column `thread` (its number in the process). Empty unless asked for.
            A thread's seconds sum to the time in which it took part.
        phases: one row per `process` and `phase`, `(none)` included: `start_s`, its first begin, and `end_s`, its last
            end, from the start of the first process; `wall_s`, time in which it was the process's phase; of that
            `cpu_s`, `gpu_s` (a device worked for the process: an upper bound where processes share it) and `wait_s`.
        waits: one row per `process`, `phase`, waiting `function` and `stream` ("" if none): `count` of entries, and
            `wait_s`, which sum to the process's time of category `wait`; `in_operations_s`, of these in any operation;
            `in_loop_s`, of these in operations or between them in the training loop.
        tasks: one row per `process` and `operation` of coroutines or generators that were suspended inside it: `count`;
            `running_s` and `elapsed_s`, for which they ran and were open, both summed; and of the time that each was
            open `elapsed_p50_s`, `elapsed_p99_s` (both rounded down, by less than 1 %) and `elapsed_max_s`.
        dependencies: one row per `process`, `phase`, process that it waited `on` and `stream` between them: `count` of
            calls and `wait_s`, split by how often each of several others sent or received.
        device_timeline: one row per `device` and part of the run from `start_s` to `end_s`: `busy`, the share in which
            it worked for any process, and `reported` utilization; both from 0 to 1, NaN where it was not sampled.
        transitions: one row per `process`, `stage`, `operation`, `from`, `to` (categories): `count`, and the count per
            iteration and per timestep of the run. Without those of evaluation, as in `evaluation_s`.
        machines: one row per `machine` (its name) and start of it: `boot_id`; `processes`, how many; how they were
            `placed` on the time line (`reference`: times are those of its clock; `measured`: moved by the offset that
            was measured; `own clock`: that is not known); how far its clock was `ahead_s`; `error_s`, the most by which
            its processes are misplaced; `drift_ppm`, how much faster its clock runs (0 if too little to be measured);
            and `unanswered`, processes that asked for the time and had no answer.
        gpu: one row per device that was used: `device` (its number in the trace), `uuid`, `busy_s` (something ran on it
            for any process), `kernel_s` (the sum of the kernels' durations), `reported_utilization` (from 0 to 1, NaN
            if it was not sampled), `name`.
        gpu_operations: one row per `process`, `device` and `operation` that launched work: `busy_s`, `kernels`. The
            busy time of a process's device sums to how long it worked for the process.
        device_work: one row per `process`, `device`, `stage`, `operation` that launched it and `name` of the kernel or
            copy: `count`, `seconds` (the sum of durations), `bytes` (moved). Not in the JSON document.
        counters: one row per `process`, `device`, `stage`, `operation` that launched work, and hardware counter
            `metric`: its `unit`; `while_working`, its value while work of the operation ran; `while_open`, of a rate,
            its value over the seconds of the operation in the breakdown; `total`, of an amount; `busy_s` in samples on
            which this rests, and `samples`, how many. What is no such value is NaN. A row with operation "" is of the
            whole stage, one with stage "" too of the process, and one with operation `(unattributed)` and process "" of
            samples in which no recorded work ran. Empty without counters.
        counter_runs: how counters were sampled; None in a run without. With counters, times are not for comparison.
        complete: nothing is known to be missing.
        why: what is missing, one sentence each.
        dropped_events: records that could not be written, those of devices included.
        misnested_operations: how many were closed by the end of another one, before their own.
        iterations: of the process that reported most of them; None without progress.
        timesteps: made during the recorded iterations; None without progress.
        total_timesteps: of the whole training; None if unknown.
        extrapolated_s: time for `total_timesteps` at the recorded rate, without evaluation; None if unknown.
        correction: how times were corrected; None if they were not.
        uncorrected: why they were not; empty if they were.
        utilization: what the machine reported of devices and processes. Not in the JSON document.
    """

    directory: Path
    processes: pd.DataFrame
    breakdown: pd.DataFrame
    outside: pd.DataFrame
    threads: pd.DataFrame
    phases: pd.DataFrame
    waits: pd.DataFrame
    tasks: pd.DataFrame
    dependencies: pd.DataFrame
    device_timeline: pd.DataFrame
    transitions: pd.DataFrame
    machines: pd.DataFrame
    gpu: pd.DataFrame
    gpu_operations: pd.DataFrame
    device_work: pd.DataFrame
    counters: pd.DataFrame
    counter_runs: CounterRuns | None
    complete: bool
    why: tuple[str, ...]
    dropped_events: int
    misnested_operations: int
    iterations: int | None
    timesteps: int | None
    total_timesteps: int | None
    extrapolated_s: float | None
    correction: AppliedCorrection | None
    uncorrected: str
    utilization: Utilization

    @property
    def evaluation_s(self) -> dict[str, float]:
        """How long each process was in the phase `evaluation`, which advice, figures, rates and transitions leave out.

        Without processes of which nothing but evaluation is known: there it is left out of nothing.
        """
        return evaluation_seconds(self.breakdown, self.outside)

    def to_json_dict(self) -> dict[str, Any]:
        """The document of `analyze --json`, schema 1."""
        advice = advise(self)
        return {
            "schema": SCHEMA,
            "complete": self.complete,
            "dropped_events": self.dropped_events,
            "misnested_operations": self.misnested_operations,
            "processes": records(self.processes),
            "breakdown": records(self.breakdown),
            "outside": records(self.outside),
            "transitions": records(self.transitions),
            "machines": records(self.machines),
            "gpu": records(self.gpu[list(GPU_COLUMNS)]),
            "gpu_operations": records(self.gpu_operations),
            "phases": records(self.phases),
            "waits": records(self.waits),
            "tasks": records(self.tasks),
            "dependencies": records(self.dependencies),
            "device_timeline": records(self.device_timeline),
            "counters": records(self.counters),
            "counter_runs": asdict(self.counter_runs) if self.counter_runs is not None else None,
            "iterations": self.iterations,
            "timesteps": self.timesteps,
            "total_timesteps": self.total_timesteps,
            "extrapolated_s": self.extrapolated_s,
            "evaluation_s": self.evaluation_s,
            "correction": asdict(self.correction) if self.correction is not None else None,
            "uncorrected": self.uncorrected,
            "advice": advice.to_json_dict() if advice is not None else None,
        }


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table's rows as dicts of plain Python values; missing values become None."""
    columns = [[None if pd.isna(value) else value for value in table[name].tolist()] for name in table.columns]
    return [dict(zip(table.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def analyze(
    trace: Trace,
    recover: bool = False,
    by_thread: bool = False,
    on_process: Callable[[], None] = lambda: None,
    gpu_attribution: GpuAttribution = GpuAttribution.LAUNCH,
    correction: Correction | str = NO_CALIBRATION,
) -> Analysis:
    """Sweeps all processes of a trace, in parallel.

    Args:
        trace: what `open_trace` returned.
        recover: step over damage, and say so in `why`, rather than raise.
        by_thread: fill the table `threads` too.
        on_process: called after each process, from another thread.
        gpu_attribution: to whom time belongs in which a device works and the process waits.
        correction: what recording costs, or why times are not to be corrected.
    """
    costs = correction if isinstance(correction, Correction) else None
    swept = sweep_trace(trace, recover, by_thread, on_process, gpu_attribution, costs)
    return make_analysis(swept, recover, "" if isinstance(correction, Correction) else correction)


def make_analysis(swept: TraceSweep, recover: bool = False, uncorrected: str = NO_CALIBRATION) -> Analysis:
    """The tables of a trace that was swept; `uncorrected` says why without costs, if it was."""
    progress = _progress(swept)
    utilization = Utilization(swept.trace.directory)
    devices = devices_of(swept)
    parts = busy_parts(swept, devices, recover)
    corrected = _corrected(swept)
    breakdown = _breakdown(swept, corrected)
    outside = outside_table(swept)
    waits = waits_table(swept)
    counters = counters_of(swept, devices, breakdown, recover)
    why = (*swept.why, *counters.why)
    analysis = Analysis(
        directory=swept.trace.directory,
        processes=_processes(swept, corrected),
        breakdown=breakdown,
        outside=outside,
        threads=_threads(swept),
        phases=phases_table(swept, breakdown),
        waits=waits,
        tasks=tasks_table(swept),
        dependencies=dependencies_table(
            waits, {process.name: process.file.header.boot_id for process in swept.processes}
        ),
        device_timeline=device_timeline_table(swept, devices, parts, utilization),
        transitions=_transitions(swept, progress, {*evaluation_seconds(breakdown, outside)}),
        machines=machines_table(swept.machines),
        gpu=gpu_table(swept, devices, parts, utilization),
        gpu_operations=gpu_operations_table(devices),
        device_work=device_work_table(devices),
        counters=counters.table,
        counter_runs=counters.runs,
        complete=not why,
        why=why,
        dropped_events=sum(
            process.found["dropped_records"] + process.found["dropped_device_records"] for process in swept.processes
        ),
        misnested_operations=misnested_operations(swept),
        iterations=progress.iterations,
        timesteps=progress.timesteps,
        total_timesteps=progress.total_timesteps,
        extrapolated_s=progress.extrapolated_s,
        correction=None,
        uncorrected=uncorrected if corrected is None else "",
        utilization=utilization,
    )
    return analysis if corrected is None else replace(analysis, correction=_applied(swept, corrected, analysis))


def group_seconds(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Sums the seconds of a breakdown (or of `threads`) over all but the given columns.

    So are corrected seconds, where there are any, and the ends of their intervals, which makes one that is at least as
    wide as that of the sum.

    Thread numbers count within a process, so grouping by `thread` also groups by `process`. By `category`:

        operation  category  seconds            category  seconds
        step       python        1.0            python        1.5
        step       backend       2.0     ->     backend       2.0
        (none)     python        0.5

    Raises:
        UsageError: the table has no such column.
    """
    known = [name for name in THREAD_KEYS if name in table.columns]
    for name in columns:
        if name not in known:
            raise UsageError(f"--by takes columns out of {', '.join(THREAD_KEYS)}, but {name!r} was given")
    keys = list(dict.fromkeys(["process", *columns] if "thread" in columns else columns))
    corrected = [name for name in CORRECTED if name in table.columns and table[name].notna().any()]
    return table.groupby(keys, sort=False, as_index=False)[["seconds", *corrected]].sum()


@dataclass(frozen=True)
class _RunProgress:
    iterations: int | None = None
    timesteps: int | None = None
    total_timesteps: int | None = None
    extrapolated_s: float | None = None


def _progress(swept: TraceSweep) -> _RunProgress:
    """Of the process that reported most iterations, the earliest if several did."""
    best: ProcessSweep | None = None
    most = -1
    for process in swept.processes:
        reported = process.found["progress"]
        if reported is not None and reported["iterations"] > most:
            best, most = process, reported["iterations"]
    if best is None:
        return _RunProgress()
    found = best.found["progress"]
    assert found is not None
    total = found["total_timesteps"] or None
    extrapolated_s = None
    made = found["last_timesteps"] - found["first_timesteps"]
    if total is not None and made > 0:
        clock = best.file.clock
        elapsed_ns = clock.monotonic_ns(found["last_ticks"]) - clock.monotonic_ns(found["first_ticks"])
        elapsed_ns -= best.length_ns(found["evaluation_ticks"])
        extrapolated_s = elapsed_ns * total / made / NS_PER_S
    return _RunProgress(
        iterations=found["iterations"],
        timesteps=found["last_timesteps"] - (found["baseline_timesteps"] or 0),
        total_timesteps=total,
        extrapolated_s=extrapolated_s,
    )


def _corrected(swept: TraceSweep) -> list[CorrectedProcess] | None:
    """Of each process; None without a correction."""
    correction = swept.correction
    if correction is None:
        return None
    removed = [removed_s(process.found, process.file.clock) for process in swept.processes]
    return [
        CorrectedProcess(
            process.found,
            process.file.clock,
            own_correction(correction, process.file, process.found["properties"]),
            waits_shortened_by_s=sum(removed) - own,
        )
        for process, own in zip(swept.processes, removed, strict=True)
    ]


def _applied(swept: TraceSweep, corrected: list[CorrectedProcess], analysis: Analysis) -> AppliedCorrection:
    """What came of the correction: the time of the process that paces the run, for others may only wait beside it."""
    assert swept.correction is not None
    path = owner_path(analysis)
    names = [process.name for process in swept.processes]
    pacing = names.index(path.process) if path is not None else 0
    wall_s, wall = float(analysis.processes["wall_s"].iloc[pacing]), corrected[pacing].wall
    ends_s = (wall.seconds, wall.high_s, wall.low_s)
    added, low, high = (100 * (wall_s / each - 1) if each else 0.0 for each in ends_s)
    uncalibrated: Counter[str] = Counter()
    for process in corrected:
        uncalibrated.update({key.partition("/")[0]: count for key, count in process.uncalibrated.items()})
    notes = [
        f"{count:,} events of the kind {kind} are of unknown cost: what they added is still in the times"
        for kind, count in sorted(uncalibrated.items())
    ]
    others = sorted({version for process in corrected for version in process.other_versions})
    if others:
        notes.append(f"intervals are twice as wide as calibrated, because the trace has {', '.join(others)}")
    return AppliedCorrection(swept.correction.source, names[pacing], added, low, high, tuple(notes), dict(uncalibrated))


def _times(corrected: Corrected | None) -> tuple[float, float, float]:
    """As columns have them."""
    if corrected is None:
        return (float("nan"),) * 3
    return corrected.seconds, corrected.low_s, corrected.high_s


def _processes(swept: TraceSweep, corrected: list[CorrectedProcess] | None) -> pd.DataFrame:
    pids = {(process.file.header.boot_id, process.file.header.pid) for process in swept.processes}
    names = {machine.boot_id: machine.name for machine in swept.machines}
    origin_ns = min(process.start_ns for process in swept.processes)
    rows = []
    for place, process in enumerate(swept.processes):
        header = process.file.header
        found = corrected[place] if corrected is not None else None
        rows.append(
            {
                "process": process.name,
                "machine": names[header.boot_id.hex()],
                "pid": header.pid,
                "parent_pid": header.parent_pid if (header.boot_id, header.parent_pid) in pids else None,
                "role": process.role,
                "exit_status": process.file.exit_status,
                "complete": process.found["complete"],
                "start_s": (process.start_ns - origin_ns) / NS_PER_S,
                "end_s": (process.end_ns - origin_ns) / NS_PER_S,
                "wall_s": (process.end_ns - process.start_ns) / NS_PER_S,
                **dict(zip(CORRECTED_WALL, _times(found.wall if found is not None else None), strict=True)),
                UNCORRECTABLE: found.uncorrectable_s if found is not None else float("nan"),
                "iterations": (process.found["progress"] or {"iterations": 0})["iterations"],
                "threads_in_operations": process.found["threads_in_operations"],
                "beside_s": process.length_ns(process.found["beside_ticks"]) / NS_PER_S,
            }
        )
    table = pd.DataFrame(rows, columns=list(PROCESS_COLUMNS))
    # Of objects, so that what is not known stays None.
    table["parent"] = pd.Series(parents(swept.processes), dtype=object)
    return table.astype({"parent_pid": "Int64", "exit_status": "Int64"})


def _breakdown(swept: TraceSweep, corrected: list[CorrectedProcess] | None) -> pd.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for place, process in enumerate(swept.processes):
        found = process.found["breakdown"]
        lengths = process.file.clock.partition_ns(process.found["start_ticks"], (row[-1] for row in found))
        seconds = {row[:-1]: ns / NS_PER_S for row, ns in zip(found, lengths, strict=True)}
        times = corrected[place].rows if corrected is not None else {}
        # Correction adds rows: time that a device worked through, and that the CPU had from recording alone.
        keys = [*seconds, *(key for key in times if key not in seconds)]
        rows += [(process.name, *key, seconds.get(key, 0.0), *_times(times.get(key))) for key in keys]
    columns = [*BREAKDOWN_KEYS, "seconds", *CORRECTED]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[-4:], float))


def _threads(swept: TraceSweep) -> pd.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for process in swept.processes:
        found = process.found.get("threads", [])
        lengths = process.file.clock.partition_ns(process.found["start_ticks"], (row[-1] for row in found))
        rows += [(process.name, *row[:-1], ns / NS_PER_S) for row, ns in zip(found, lengths, strict=True)]
    return pd.DataFrame(rows, columns=[*THREAD_KEYS, "seconds"]).astype({"seconds": float})


def _transitions(swept: TraceSweep, progress: _RunProgress, evaluating: Set[str]) -> pd.DataFrame:
    """Those of evaluation too, but for the processes that evaluate beside their training."""
    rows = []
    for process in swept.processes:
        counts = Counter({row[:-1]: row[-1] for row in process.found["transitions"]})
        if process.name not in evaluating:
            counts.update({row[:-1]: row[-1] for row in process.found["evaluation_transitions"]})
        rows += [(process.name, *key, count) for key, count in counts.items()]
    table = pd.DataFrame(rows, columns=[*TRANSITION_KEYS, "count"])
    return table.assign(
        per_iteration=table["count"] / (progress.iterations or float("nan")),
        per_timestep=table["count"] / (progress.timesteps or float("nan")),
    )
