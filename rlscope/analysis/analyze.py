"""This file makes the analysis of a trace: sweeps it and puts the rows together."""

from collections import Counter

from rlscope.analysis.advice.owner_path import owner_path
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.correction.corrected import AppliedCorrection, CorrectedProcess, Correction
from rlscope.analysis.run import Run
from rlscope.analysis.sweep import TraceSweep, sweep_trace
from rlscope.model import GpuAttribution
from rlscope.trace.reader import Trace

NO_CALIBRATION = "no calibration was given"


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
    costs, uncorrected = (correction, "") if isinstance(correction, Correction) else (None, correction)
    swept = sweep_trace(trace, recover, by_thread, gpu_attribution, costs, 0 if by_function else None)
    return make_analysis(swept, recover, uncorrected, by_function)


def analyze_in_detail(
    trace: Trace,
    bins: int,
    recover: bool = False,
    correction: Correction | str = NO_CALIBRATION,
    by_function: bool = False,
) -> tuple[TraceSweep, Analysis]:
    """Do the same with functions, iterations, instances of operations and `bins` per process; return the sweep too."""
    costs, uncorrected = (correction, "") if isinstance(correction, Correction) else (None, correction)
    swept = sweep_trace(trace, recover, correction=costs, bins=bins)
    return swept, make_analysis(swept, recover, uncorrected, by_function)


def make_analysis(
    swept: TraceSweep, recover: bool = False, uncorrected: str = NO_CALIBRATION, by_function: bool = False
) -> Analysis:
    """Return the analysis of a trace that was swept, with detail if it is to be by function.

    `uncorrected` says why it was swept without costs, if it was.
    """
    run = Run(swept, recover, uncorrected, by_function)
    analysis = Analysis(run)
    if run.corrected is None:
        return analysis
    return analysis.replaced(correction=_applied(swept, run.corrected, analysis))


def _applied(swept: TraceSweep, corrected: list[CorrectedProcess], analysis: Analysis) -> AppliedCorrection:
    """Return what came of the correction: the time of the process that paces the run, for others may only wait
    beside it.
    """
    assert swept.correction is not None
    path = owner_path(analysis)
    names = [process.name for process in swept.processes]
    pacing = names.index(path.process) if path is not None else 0
    wall_s, wall = analysis.processes[pacing].wall_s, corrected[pacing].wall
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
