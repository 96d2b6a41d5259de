"""Draw the bins of rlscope's page with plotly: `python -m benchmarks.showing.plotly_page DIR PAGE`."""

import sys
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from benchmarks.analyzing.analyze_once import print_cost
from benchmarks.showing.rlscope_page import run_of
from rlscope.page.trace_data import detail_of


def figure(trace: Path) -> go.Figure:
    """Stack the seconds of each layer in each bin of the process with most, as the page's timeline does."""
    process = max(run_of(trace).swept.processes, key=lambda process: len(detail_of(process).bins))
    detail, second = detail_of(process), process.seconds_per_tick
    ends = (np.frombuffer(detail.borders, "<u8") - np.uint64(process.found.start_ticks)) * second
    layers = sorted({series.category for series in detail.series})
    table = np.zeros((len(layers), len(ends) + 1))
    layer_of = np.array([layers.index(series.category) for series in detail.series])
    series, bins = np.frombuffer(detail.bin_series, "<u4"), np.frombuffer(detail.bins, "<u4")
    np.add.at(table, (layer_of[series], bins), np.frombuffer(detail.bin_ticks, "<u8") * second)
    areas = [
        go.Scatter(x=ends, y=row[:-1], name=layer, stackgroup="layers", mode="none")
        for layer, row in zip(layers, table, strict=True)
    ]
    return go.Figure(areas)


def main() -> None:
    """Sweep the trace as rlscope's page does, and write plotly's figure of it."""
    trace, page = Path(sys.argv[1]), sys.argv[2]
    print_cost(lambda: figure(trace).write_html(page, include_plotlyjs=True))


if __name__ == "__main__":
    main()
