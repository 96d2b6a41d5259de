"""This file draws the breakdown of training time: total time above; stages, categories and resources below."""

from collections.abc import Hashable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rlscope.model import CATEGORIES, PUBLISHED_STAGES
from rlscope.plots import style
from rlscope.plots.bars import (
    ABOVE_TALLEST,
    GROUP_WIDTH,
    Look,
    Outlines,
    category_patch,
    draw_ends,
    draw_keys,
    draw_stacks,
    figure_width,
    name_groups,
    resource_patch,
)
from rlscope.plots.tables import TRAINING_TIME

PUBLISHED_BARS = tuple(sorted(PUBLISHED_STAGES))
PERCENT = "Percent (%)"


def breakdown_figure(
    table: pd.DataFrame,
    value: str = "percent",
    labels: Mapping[str, str] | None = None,
    title: str = "",
    time: str = TRAINING_TIME,
    log_totals: bool = False,
    outlines: Outlines | None = None,
) -> Figure:
    """Draw a breakdown in the published look.

    Args:
        table: rows as from `rlscope.plots.tables.breakdown_table`, in which groups, bars and pieces keep their order.
        value: "percent" or "seconds", the column with the heights of the bars.
        labels: text under the groups, where it is not the workload's name.
        title: what the workloads differ in, under all groups.
        time: what the seconds are, written along the axes.
        log_totals: show the total times on a scale of powers of two.
        outlines: what another machine had, in the unit of `value`.

    Returns:
        The figure; the caller saves it. Stages, categories and resources that the published figures lack get their
        own bars and looks where the table has them.
    """
    with style.paper():
        figure = Figure(figsize=(figure_width(table["workload"].nunique()), style.PANEL_INCHES), dpi=200)
        totals, bars = figure.subplots(
            2, 1, sharex=True, gridspec_kw={"height_ratios": style.TOTALS_TO_BARS, "hspace": 0.04}
        )
        draw_breakdown(totals, bars, table, value, labels, title, time, log_totals, outlines)
        figure.align_ylabels()
        draw_keys(figure, totals, bars, legend(table), stages_of(table), outlines)
    return figure


def draw_breakdown(
    totals: Axes,
    bars: Axes,
    table: pd.DataFrame,
    value: str,
    labels: Mapping[str, str] | None,
    title: str,
    time: str,
    log_totals: bool,
    outlines: Outlines | None,
) -> None:
    """Draw the two panels of a breakdown, without their keys; all as in `breakdown_figure`."""
    stages = stages_of(table)
    workloads = list(dict.fromkeys(table["workload"]))
    draw_totals(totals, table.groupby("workload", sort=False)["training_s"].first(), len(stages), log_totals)
    totals.set_ylabel(time, size=7)
    if outlines:
        outlines.draw(totals, workloads, ["training_s"], total_width(len(stages)))
    draw_stacks(bars, table, value, stages, look, outlines)
    keep_ticks_off_the_edge(bars)
    bars.set_ylabel(PERCENT if value == "percent" else time)
    name_groups(bars, workloads, labels or {}, title)


def stages_of(table: pd.DataFrame) -> tuple[str, ...]:
    """Return the bars of each group, from left to right."""
    return shown(PUBLISHED_BARS, style.STAGE_ORDER, table["stage"])


def draw_totals(axes: Axes, training_s: pd.Series, bars_in_group: int, log_scale: bool) -> None:
    """Draw one black bar per workload, as wide as one bar below; on a log scale, where bars would begin anywhere, only
    its upper end.
    """
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="darkgrey", linewidth=0.8)
    width = total_width(bars_in_group)
    if log_scale:
        axes.set_yscale("log", base=2)
        draw_ends(axes, range(len(training_s)), training_s, width, color="black", linewidth=3)
    else:
        axes.bar(range(len(training_s)), training_s, width, color="black")
        axes.set_ylim(0, ABOVE_TALLEST * max(training_s.max(), 1e-12))
        axes.locator_params(axis="y", nbins=5)


def total_width(bars_in_group: int) -> float:
    """Return the width of the bar of a total, in groups."""
    return min(GROUP_WIDTH / bars_in_group, GROUP_WIDTH / 3)


def keep_ticks_off_the_edge(axes: Axes) -> None:
    """Make room above the uppermost tick, whose label would run into the lowest one of the panel above."""
    top = axes.get_ylim()[1]
    uppermost = max(tick for tick in axes.get_yticks() if tick <= top)
    if uppermost > 0.95 * top:
        axes.set_ylim(0, uppermost / 0.95)


def look(row: Mapping[Hashable, object]) -> Look:
    """Return the colour of the resource and the hatch of the category; what runs on GPUs alone has no hatch."""
    hatch = "" if row["resource"] in style.GPU_ALONE else style.CATEGORY_HATCHES[str(row["category"])]
    return style.RESOURCE_COLOURS[str(row["resource"])], hatch


def legend(table: pd.DataFrame) -> list[Patch]:
    """Return the looks of what a table has, from the top of a bar to its bottom: categories first, then resources."""
    categories = shown((), tuple(sorted(CATEGORIES)), table["category"])
    resources = shown((), style.RESOURCE_ORDER, table["resource"])
    return [category_patch(name) for name in reversed(categories)] + [
        resource_patch(name) for name in reversed(resources)
    ]


def shown(published: tuple[str, ...], order: tuple[str, ...], present: pd.Series) -> tuple[str, ...]:
    """Return what the published figures always show, and what else is present, in the figure's order."""
    wanted = {*published, *present}
    return tuple(name for name in order if name in wanted)
