"""This file makes the analysis of a trace, which is what `rlscope analyze` shows of it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.run import Run
from rlscope.analysis.run_tables import RunTables
from rlscope.analysis.summary import summary_of
from rlscope.analysis.sweep import NO_CALIBRATION, TraceSweep, sweep_trace
from rlscope.model import GpuAttribution
from rlscope.trace.reader import Trace

if TYPE_CHECKING:
    from typing_extensions import Self


class Analysis(RunTables):
    """This is what `rlscope analyze` shows: the tables of a run.

    It has no fields of its own, and to make it a dataclass would take as long as the import of a file.
    """

    def replaced(self, **values: Any) -> Self:
        """Return the same with other values of some tables and facts."""
        found = copy(self)
        vars(found).update(values)
        return found

    @property
    def summary(self) -> str:
        """Say what was recorded, such as "1 process, 9.06 s, 600 iterations, 600 timesteps"."""
        return summary_of(self)

    @property
    def no_core_share(self) -> float:
        """Return the share of the processes' time in which they waited for a core, from 0 to 1."""
        return self.cores.no_core_share

    def _repr_html_(self) -> str:
        """Show the analysis in a notebook: where its time went."""
        from rlscope.analysis.outline.html import html_of  # which only notebooks need

        return html_of(self)


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
