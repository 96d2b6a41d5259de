"""This file draws what recording added to workloads, by source, and what correction leaves of it."""

from collections.abc import Hashable, Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rlscope.plots import style
from rlscope.plots.bars import BESIDE, Outlines, name_groups
from rlscope.text.numbers import change

BAR_WIDTH = 0.36
BARS_TO_OVERHEAD = (2.2, 1)  # heights of the upper and the lower panels
Piece = tuple[str, str, str]  # column, label, colour
UNRECORDED: Piece = ("unrecorded_percent", "Uninstrumented", "#e8a2cf")
CORRECTED: Piece = ("corrected_percent", "Corrected", "#56b4e9")
#: Of the left bar, as published: with all overhead, and corrected.
PUBLISHED = ("recorded_percent", "corrected_percent")
ADDED: Piece = ("added_percent", "Measured overhead", "lightgray")
#: Bottom to top of a bar.
SOURCES: tuple[Piece, ...] = (
    ("operation_percent", "Operations", "#f0e442"),
    ("simulator_percent", "Python ↔ simulator", "#009e73"),
    ("backend_percent", "Python ↔ backend", "#d55e00"),
    ("cuda_percent", "CUDA", "#5d3a9b"),
)


def overhead_figure(
    table: pd.DataFrame, labels: Mapping[str, str], panels: Mapping[str, str], outlines: Outlines | None = None
) -> Figure:
    """Draw two bars for each workload: instrumented, with overhead by source on the corrected time; uninstrumented.

    Today's overhead is thin beside the whole, so the panels below show it alone: what is subtracted, by source, beside
    what was measured.

    Args:
        table: `workload`, `panel` and, in percent of the time without recording, the columns of all pieces,
            `added_percent_low`, `added_percent_high` and `bias_percent`; rows in the order of the groups.
        labels: text under the groups, by workload.
        panels: what the workloads of each panel differ in, by panel, from left to right.
        outlines: PUBLISHED, of the published figure.
    """
    parts = {panel: table[table["panel"] == panel] for panel in panels}
    shown = {panel: rows for panel, rows in parts.items() if len(rows)}
    sources = [piece for piece in SOURCES if (table[piece[0]] > 0).any()]
    with style.paper():
        figure = Figure(figsize=(1.5 * style.COLUMN_INCHES, 1.4 * style.PANEL_INCHES), dpi=200)
        upper, lower = figure.subplots(
            2,
            len(shown),
            squeeze=False,
            sharex="col",
            sharey="row",
            width_ratios=[len(rows) for rows in shown.values()],
            height_ratios=BARS_TO_OVERHEAD,
        )
        for above, below, (panel, rows) in zip(upper, lower, shown.items(), strict=True):
            for group, row in enumerate(rows.to_dict("records")):
                draw_times(above, group, row, sources)
                draw_overhead(below, group, row, sources)
            name_groups(below, rows["workload"], labels, panels[panel])
        upper[0].set_ylim(0, 1.1 * max(100.0, float((100 + table["added_percent"]).max())))
        if outlines:
            for above, rows in zip(upper, shown.values(), strict=True):
                for column in PUBLISHED:
                    outlines.draw(above, rows["workload"], [column, ""], BAR_WIDTH)
        upper[0].set_ylabel("Training time\n(% of uninstrumented)")
        lower[0].set_ylabel("Overhead (%)")
        pieces = [*reversed(sources), CORRECTED, UNRECORDED, ADDED]
        figure.legend(
            handles=[
                *(Patch(color=colour, label=label) for _, label, colour in pieces),
                *([outlines.patch()] if outlines else []),
            ],
            **BESIDE,
            bbox_transform=upper[-1].transAxes,
        )
        figure.align_xlabels(lower)
        figure.subplots_adjust(wspace=0.06, hspace=0.08)
    return figure


def draw_times(axes: Axes, group: int, row: Mapping[Hashable, float], sources: Sequence[Piece]) -> None:
    """Draw the two bars of a workload, with the bias above."""
    draw_stack(axes, group - BAR_WIDTH / 2, row, [CORRECTED, *sources])
    top = draw_stack(axes, group + BAR_WIDTH / 2, row, [UNRECORDED])
    axes.annotate(change(row["bias_percent"]), (group, top), (1, 2), textcoords="offset points", size=6)


def draw_overhead(axes: Axes, group: int, row: Mapping[Hashable, float], sources: Sequence[Piece]) -> None:
    """Draw what correction subtracts beside what was measured, with its interval."""
    draw_stack(axes, group - BAR_WIDTH / 2, row, sources)
    draw_stack(axes, group + BAR_WIDTH / 2, row, [ADDED])
    column, _, _ = ADDED
    ends = [[row[column] - row[f"{column}_low"]], [row[f"{column}_high"] - row[column]]]
    axes.errorbar(group + BAR_WIDTH / 2, row[column], ends, color="black", linewidth=0.8, capsize=2)


def draw_stack(axes: Axes, x: float, row: Mapping[Hashable, float], pieces: Sequence[Piece]) -> float:
    """Draw pieces on one another, without edges, which would hide thin ones. Returns where they end."""
    top = 0.0
    for column, _, colour in pieces:
        axes.bar(x, row[column], BAR_WIDTH, bottom=top, color=colour, linewidth=0)
        top += row[column]
    return top
