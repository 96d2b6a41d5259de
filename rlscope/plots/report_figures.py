"""The figures of a report by name, so that the process that asks for one need not load what draws it."""

from collections.abc import Callable

from matplotlib.figure import Figure

from rlscope.plots.breakdown import breakdown_figure
from rlscope.plots.counters import counters_figure
from rlscope.plots.device_timeline import device_timeline_figure
from rlscope.plots.processes import process_view
from rlscope.plots.ranks import ranks_figure
from rlscope.plots.transitions import transitions_figure
from rlscope.plots.utilization import utilization_figure

FIGURES: dict[str, Callable[..., Figure]] = {
    figure.__name__: figure
    for figure in (
        breakdown_figure,
        counters_figure,
        device_timeline_figure,
        process_view,
        ranks_figure,
        transitions_figure,
        utilization_figure,
    )
}
