"""What recording added to workloads, by source, and what correction leaves of it."""

from collections.abc import Mapping

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rlscope.plots import style
from rlscope.plots.bars import KEYS_LEFT, name_groups

BAR_WIDTH = 0.36
UNRECORDED = ("unrecorded_percent", "Uninstrumented", "tab:pink")
#: Columns, labels and colours of the pieces of a recorded bar, bottom to top.
PIECES = (
    ("corrected_percent", "Corrected", "tab:blue"),
    ("operation_percent", "Operations", "tab:orange"),
    ("simulator_percent", "Python ↔ simulator", "tab:green"),
    ("backend_percent", "Python ↔ backend", "tab:red"),
    ("cuda_percent", "CUDA", "tab:purple"),
)


def overhead_figure(table: pandas.DataFrame, labels: Mapping[str, str], panels: Mapping[str, str]) -> Figure:
    """Draw two bars for each workload: recorded, with what recording added on top of the corrected time; not recorded.

    Args:
        table: `workload`, `panel`, the columns of UNRECORDED and PIECES (percent of the time without recording), and
            `bias_percent`; rows in the order of the groups.
        labels: text under the groups, by workload.
        panels: what the workloads of each panel differ in, by panel, from left to right.
    """
    groups = [table[table["panel"] == panel] for panel in panels]
    shown = {panel: rows for panel, rows in zip(panels, groups, strict=True) if len(rows)}
    with style.paper():
        figure = Figure(figsize=(1.5 * style.COLUMN_INCHES, style.PANEL_INCHES), dpi=200)
        widths = [len(rows) for rows in shown.values()]
        axes = figure.subplots(1, len(shown), squeeze=False, sharey=True, width_ratios=widths)[0]
        for one, (panel, rows) in zip(axes, shown.items(), strict=True):
            draw_pairs(one, rows)
            name_groups(one, rows["workload"], labels, panels[panel])
        axes[0].set_ylabel("Training time (% of uninstrumented)")
        axes[0].set_ylim(0, 1.1 * max(100.0, float(table[[column for column, _, _ in PIECES]].sum(axis=1).max())))
        draw_key(figure, axes[-1], [piece for piece in PIECES if (table[piece[0]] > 0).any()])
        figure.subplots_adjust(wspace=0.06)
    return figure


def draw_pairs(axes: Axes, table: pandas.DataFrame) -> None:
    """Draw the bars of a panel, with the bias above each pair."""
    for group, row in enumerate(table.to_dict("records")):
        top = 0.0
        for column, _, colour in PIECES:
            draw_piece(axes, group - BAR_WIDTH / 2, row[column], top, colour)
            top += row[column]
        column, _, colour = UNRECORDED
        draw_piece(axes, group + BAR_WIDTH / 2, row[column], 0.0, colour)
        highest = max(top, row[column])
        axes.annotate(
            f"{row['bias_percent']:+.1f}%", (group, highest), (0, 2), textcoords="offset points", ha="center", size=7
        )


def draw_piece(axes: Axes, x: float, height: float, bottom: float, colour: str) -> None:
    """Draw one piece of a bar; its edge has its own colour, because a black one would hide a thin piece."""
    axes.bar(x, height, BAR_WIDTH, bottom=bottom, color=colour, linewidth=0)


def draw_key(figure: Figure, axes: Axes, pieces: list[tuple[str, str, str]]) -> None:
    """Put the legend right of the last panel, in the order of the pieces from top to bottom."""
    handles = [Patch(color=colour, label=label) for _, label, colour in (*reversed(pieces), UNRECORDED)]
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(KEYS_LEFT, 1.0),
        bbox_transform=axes.transAxes,
        borderaxespad=0,
    )
