"""Open what HolisticTraceAnalysis shows of Chrome traces: `python -m benchmarks.showing.hta_page DIR PAGE`."""

import sys
from pathlib import Path
from typing import Any

import plotly.io
from hta.trace_analysis import TraceAnalysis
from plotly.io.base_renderers import ExternalRenderer

from benchmarks.analyzing.analyze_once import print_cost


class Written(ExternalRenderer):  # type: ignore[misc]
    """Writes the figure that plotly would open in a browser."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def render(self, fig_dict: dict[str, Any]) -> None:
        """Write the whole page, with plotly's library in it."""
        self.path.write_text(plotly.io.to_html(fig_dict, include_plotlyjs=True, validate=False))


def main() -> None:
    """Load the trace and draw the one breakdown that it has, of GPU time."""
    plotly.io.renderers["written"] = Written(Path(sys.argv[2]))
    plotly.io.renderers.default = "written"
    print_cost(lambda: TraceAnalysis(trace_dir=sys.argv[1]).get_temporal_breakdown())


if __name__ == "__main__":
    main()
