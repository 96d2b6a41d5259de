"""This file analyzes a trace for a page of it, with what a reader must know beside the numbers."""

from rlscope.analysis.analysis import make_analysis
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.sweep import sweep_trace
from rlscope.page.make_page import Run
from rlscope.report.remarks import core_lines, device_lines, warnings
from rlscope.report.sentences import correction_lines, evaluation_lines
from rlscope.trace.reader import Trace


def page_run(
    name: str,
    trace: Trace,
    bins: int,
    recover: bool,
    correction: Correction | str,
    focus_s: tuple[float, float] | None = None,
) -> Run:
    """Sweep a trace with functions, iterations and bins, and return what a page shows of it.

    Args:
        name: What the page calls the trace.
        trace: The trace.
        bins: How many bins each process has.
        recover: Step over damage rather than raise.
        correction: What recording costs, or why times are not to be corrected.
        focus_s: The page has every event between these seconds from the start of the run.
    """
    swept = sweep_trace(trace, recover, correction=correction, bins=bins)
    analysis = make_analysis(swept, recover)
    remarks = [*core_lines(analysis), *device_lines(analysis), *evaluation_lines(analysis), *correction_lines(analysis)]
    return Run(name, swept, analysis, warnings(name, analysis), remarks, focus_s)
