"""Makes the analysis of a trace: sweeps it and puts the tables together."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from rlscope.analysis.advice.owner_path import owner_path
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.correction import AppliedCorrection, CorrectedProcess, Correction, removed_s
from rlscope.analysis.counters.counters import counters_of
from rlscope.analysis.progress import progress_of
from rlscope.analysis.sweep import TraceSweep, own_correction, sweep_trace
from rlscope.analysis.tables.breakdown import breakdown_table, threads_table, transitions_table
from rlscope.analysis.tables.dependencies import dependencies_table, waits_table
from rlscope.analysis.tables.device_timeline import busy_parts, device_timeline_table
from rlscope.analysis.tables.devices import devices_of
from rlscope.analysis.tables.gpu import device_work_table, gpu_operations_table, gpu_table
from rlscope.analysis.tables.loop import evaluation_seconds, outside_table
from rlscope.analysis.tables.machines import machines_table
from rlscope.analysis.tables.processes import phases_table, processes_table
from rlscope.analysis.tables.tasks import misnested_operations, tasks_table
from rlscope.analysis.utilization import Utilization
from rlscope.model import GpuAttribution
from rlscope.trace.reader import Trace

NO_CALIBRATION = "no calibration was given"


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
    progress = progress_of(swept)
    utilization = Utilization(swept.trace.directory)
    devices = devices_of(swept)
    parts = busy_parts(swept, devices, recover)
    corrected = _corrected(swept)
    breakdown = breakdown_table(swept, corrected)
    outside = outside_table(swept)
    waits = waits_table(swept)
    counters = counters_of(swept, devices, breakdown, recover)
    why = (*swept.why, *counters.why)
    analysis = Analysis(
        directory=swept.trace.directory,
        processes=processes_table(swept, corrected),
        breakdown=breakdown,
        outside=outside,
        threads=threads_table(swept),
        phases=phases_table(swept, breakdown),
        waits=waits,
        tasks=tasks_table(swept),
        dependencies=dependencies_table(
            waits, {process.name: process.file.header.boot_id for process in swept.processes}
        ),
        device_timeline=device_timeline_table(swept, devices, parts, utilization),
        transitions=transitions_table(swept, progress, {*evaluation_seconds(breakdown, outside)}),
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
