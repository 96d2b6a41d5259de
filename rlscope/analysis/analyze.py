"""This file makes the analysis of a trace: sweeps it and puts the rows together."""

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.run import Run
from rlscope.analysis.sweep import NO_CALIBRATION, TraceSweep, sweep_trace
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
    return Analysis(Run(swept, recover, by_function))
