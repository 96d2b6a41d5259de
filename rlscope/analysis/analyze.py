"""This file makes the analysis of a trace: sweeps it and puts the rows together."""

from collections import Counter
from dataclasses import asdict

from rlscope.analysis.advice.owner_path import OwnerPath, owner_path
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.correction.corrected import AppliedCorrection, CorrectedProcess, Correction, removed_s
from rlscope.analysis.counters.runs import Counters, is_sampled
from rlscope.analysis.devices.clock import shared_clocks
from rlscope.analysis.devices.devices import Device, devices_of
from rlscope.analysis.devices.idle import device_idle_rows
from rlscope.analysis.devices.launches import launch_rows
from rlscope.analysis.devices.sharing import shared_devices
from rlscope.analysis.devices.timeline import busy_parts, device_timeline_rows
from rlscope.analysis.devices.work import device_work_rows, gpu_operation_rows, gpu_rows
from rlscope.analysis.lines.tables import line_tables
from rlscope.analysis.memory.tables import memory_growth_rows, memory_rows
from rlscope.analysis.ranks.matching import Collective, collectives_of
from rlscope.analysis.ranks.rank_tables import rank_tables
from rlscope.analysis.ranks.tables import is_communication, rank_dependencies
from rlscope.analysis.reported import Utilization
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import NO_CALIBRATION, TraceSweep, own_correction, sweep_trace
from rlscope.analysis.table_rows import (
    BreakdownRow,
    CallRow,
    CounterRow,
    DependencyRow,
    IterationRow,
    ProcessRow,
    WaitRow,
)
from rlscope.analysis.tables.breakdown import breakdown_rows, thread_rows, transition_rows
from rlscope.analysis.tables.calls import call_rows, iteration_rows
from rlscope.analysis.tables.dependencies import dependency_rows, wait_rows
from rlscope.analysis.tables.loop import loops_of, outside_rows
from rlscope.analysis.tables.machines import machine_rows
from rlscope.analysis.tables.processes import phase_rows, process_rows
from rlscope.analysis.tables.progress import progress_of
from rlscope.analysis.tables.samples import sample_rows, sample_tail_rows
from rlscope.analysis.tables.tasks import task_rows
from rlscope.model import GpuAttribution
from rlscope.trace.reader import Trace


def analyze(
    trace: Trace,
    recover: bool = False,
    by_thread: bool = False,
    gpu_attribution: GpuAttribution = GpuAttribution.LAUNCH,
    correction: Correction | str = NO_CALIBRATION,
    by_function: bool = False,
) -> Analysis:
    """Sweep all processes of a trace, in parallel, and return its analysis.

    Args:
        trace: what `open_trace` returned.
        recover: step over damage, and say so in `why`, rather than raise.
        by_thread: fill `threads` too.
        gpu_attribution: to whom time belongs in which a device works and the process waits.
        correction: what recording costs, or why times are not to be corrected.
        by_function: fill `calls` and `iteration_times` too.
    """
    swept = sweep_trace(trace, recover, by_thread, gpu_attribution, correction, bins=0 if by_function else None)
    return make_analysis(swept, recover, by_function)


def make_analysis(swept: TraceSweep, recover: bool = False, by_function: bool = False) -> Analysis:
    """Return the analysis of a swept trace; with `by_function`, for which it is swept with bins, as `analyze` does."""
    progress = progress_of(swept)
    utilization = Utilization(swept.trace.directory)
    devices = devices_of(swept)
    clocks = shared_clocks(swept, devices)
    parts = busy_parts(clocks, recover)
    shared = shared_devices(clocks, recover)
    corrected = _corrected(swept)
    breakdown = breakdown_rows(swept, corrected)
    outside = outside_rows(swept)
    loops = loops_of(breakdown, outside)
    waits = wait_rows(swept)
    calls = collectives_of(swept)
    dependencies = _dependencies(swept, waits, calls)
    processes = process_rows(swept, corrected)
    path = owner_path(processes, breakdown, loops, waits, dependencies)
    counters = _counters(swept, devices, breakdown, recover)
    idle = device_idle_rows(clocks, dependencies, loops.evaluation_s.keys(), recover)
    why = (*swept.why, *counters.why)
    return Analysis(
        directory=swept.trace.directory,
        processes=processes,
        breakdown=breakdown,
        outside=outside,
        threads=thread_rows(swept),
        calls=call_rows(swept) if by_function else Rows(CallRow),
        **line_tables(swept, progress.iterations)._asdict(),
        memory=memory_rows(swept),
        memory_growth=memory_growth_rows(swept),
        iteration_times=iteration_rows(swept) if by_function else Rows(IterationRow),
        phases=phase_rows(swept, breakdown),
        waits=waits,
        tasks=task_rows(swept),
        samples=sample_rows(swept),
        sample_tails=sample_tail_rows(swept),
        dependencies=dependencies,
        **rank_tables(swept, devices, calls, (processes, breakdown, waits), recover)._asdict(),
        device_timeline=device_timeline_rows(swept, devices, parts, utilization),
        transitions=transition_rows(swept, progress, loops.evaluation_s.keys()),
        machines=machine_rows(swept.machines),
        gpu=gpu_rows(devices, parts, utilization.mean(*_run_ns(swept)) if devices else {}),
        gpu_operations=gpu_operation_rows(devices),
        device_work=device_work_rows(devices),
        device_shares=shared.shares,
        device_switches=shared.switches,
        device_idle=idle,
        launches=launch_rows(devices, idle),
        counters=counters.rows,
        counter_runs=counters.runs,
        complete=not why,
        why=why,
        dropped_events=swept.dropped_events,
        misnested_operations=sum(process.found.misnested_operations for process in swept.processes),
        **asdict(progress),
        correction=None if corrected is None else _applied(swept, corrected, processes, path),
        uncorrected=swept.uncorrected,
        utilization=utilization,
        loops=loops,
        path=path,
    )


def _dependencies(swept: TraceSweep, waits: Rows[WaitRow], calls: list[Collective]) -> Rows[DependencyRow]:
    """Return who waited for whom: by pipes and sockets, and by communicators, whose members say when they called."""
    boots = {process.name: process.file.header.boot_id for process in swept.processes}
    by_channel = dependency_rows((row for row in waits if not is_communication(row)), boots)
    by_communicator = rank_dependencies((row for row in waits if is_communication(row)), calls)
    return Rows(DependencyRow, [*by_channel, *by_communicator])


def _counters(swept: TraceSweep, devices: list[Device], breakdown: Rows[BreakdownRow], recover: bool) -> Counters:
    if not is_sampled(swept):
        return Counters(Rows(CounterRow), None, ())
    from rlscope.analysis.counters.counters import counters_of  # and numpy, which few traces need

    return counters_of(swept, devices, breakdown, recover)


def _run_ns(swept: TraceSweep) -> tuple[int, int]:
    """Return CLOCK_MONOTONIC of the machine that ran the command, from the first process's start to the last one's
    end.
    """
    boot_id = swept.main.file.header.boot_id
    here = [process for process in swept.processes if process.file.header.boot_id == boot_id]
    starts = [process.file.clock.monotonic_ns(process.found.start_ticks) for process in here]
    ends = [process.file.clock.monotonic_ns(process.found.end_ticks) for process in here]
    return min(starts), max(ends)


def _corrected(swept: TraceSweep) -> list[CorrectedProcess] | None:
    """Return the corrected times of each process; None without a correction."""
    correction = swept.correction
    if correction is None:
        return None
    removed = [removed_s(process.found, process.file.clock) for process in swept.processes]
    return [
        CorrectedProcess(
            process.found,
            process.file.clock,
            own_correction(correction, process.file, process.found.properties),
            waits_shortened_by_s=sum(removed) - own,
        )
        for process, own in zip(swept.processes, removed, strict=True)
    ]


def _applied(
    swept: TraceSweep, corrected: list[CorrectedProcess], processes: Rows[ProcessRow], path: OwnerPath | None
) -> AppliedCorrection:
    """Return what came of the correction: the time of the process that paces the run, for others may only wait
    beside it.
    """
    assert swept.correction is not None
    names = [process.name for process in swept.processes]
    pacing = names.index(path.process) if path is not None else 0
    wall_s, wall = processes[pacing].wall_s, corrected[pacing].wall
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
