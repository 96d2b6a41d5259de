"""This file draws how often each stage crosses into the backend, CUDA and the simulator."""

from collections.abc import Hashable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rlscope.plots import style
from rlscope.plots.bars import Look, Outlines, category_patch, draw_keys, draw_stacks, figure_width, name_groups
from rlscope.plots.breakdown import stages_of
from rlscope.plots.folding import PUBLISHED_TRANSITIONS

VALUE_LABELS = {
    "count": "Transitions",
    "per_iteration": "Transitions per iteration",
    "per_timestep": "Transitions per timestep",
}


def transitions_figure(
    table: pd.DataFrame,
    value: str = "per_iteration",
    labels: Mapping[str, str] | None = None,
    title: str = "",
    outlines: Outlines | None = None,
) -> Figure:
    """Draw transitions in the published look.

    Args:
        table: rows as from `rlscope.plots.tables.transitions_table`, in which groups, bars and pieces keep their order.
        value: "per_iteration", "per_timestep" or "count", the column with the heights of the bars.
        labels: text under the groups, where it is not the workload's name.
        title: what the workloads differ in, under all groups.
        outlines: what another machine had, in the unit of `value`.
    """
    with style.paper():
        figure = Figure(figsize=(figure_width(table["workload"].nunique()), style.PANEL_INCHES), dpi=200)
        axes = figure.subplots()
        draw_transitions(axes, table, value, labels, title, outlines)
        draw_keys(figure, axes, axes, legend(table), stages_of(table), outlines)
    return figure


def draw_transitions(
    axes: Axes,
    table: pd.DataFrame,
    value: str,
    labels: Mapping[str, str] | None,
    title: str,
    outlines: Outlines | None,
) -> None:
    """Draw transitions, without their keys; all as in `transitions_figure`."""
    draw_stacks(axes, table, value, stages_of(table), look, outlines)
    axes.set_ylabel(VALUE_LABELS[value])
    name_groups(axes, dict.fromkeys(table["workload"]), labels or {}, title)


def look(row: Mapping[Hashable, object]) -> Look:
    """Return the look of a transition: white, hatched by the category that is entered."""
    return "white", style.CATEGORY_HATCHES[str(row["category"])]


def legend(table: pd.DataFrame) -> list[Patch]:
    """Return the looks of what a table has, from the top of a bar to its bottom."""
    present = set(table["category"]) & set(PUBLISHED_TRANSITIONS)
    order = sorted(present, key=style.CATEGORY_ORDER.index, reverse=True)
    return [category_patch(name) for name in order]
