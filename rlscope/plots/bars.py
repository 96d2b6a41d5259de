"""This file draws groups of numbered, stacked bars with their keys, for breakdowns and transitions alike."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from rlscope.plots.style import (
    CATEGORY_HATCHES,
    CATEGORY_LABELS,
    COLUMN_INCHES,
    RESOURCE_COLOURS,
    RESOURCE_LABELS,
    STAGE_LABELS,
    unknown_glyphs,
)
from rlscope.text import printable

GROUP_WIDTH = 0.67
ABOVE_TALLEST = 1.08  # the end of an axis, in heights of the tallest bar
KEYS_LEFT = 1.02  # in widths of the axes
#: Where a legend is: right of the axes, level with their top.
BESIDE: Mapping[str, Any] = {"loc": "upper left", "bbox_to_anchor": (KEYS_LEFT, 1.0), "borderaxespad": 0}
#: How large a legend's boxes are, so that one sees their hatch.
HATCHED: Mapping[str, Any] = {"handlelength": 2.6, "handleheight": 1.7}
#: No colour of a resource, and dark enough beside all of them.
OUTLINE: Mapping[str, Any] = {"edgecolor": "crimson", "linestyle": (0, (2.5, 1.2)), "linewidth": 1.3}
LONGEST_NAME = 60  # characters under a group of bars
LETTER_INCHES = 0.068  # of a name there, on average

Look = tuple[str, str]  # fill colour and hatch


@dataclass(frozen=True)
class Outlines:
    """This is what another machine had, which is drawn as dashed outlines over the bars.

    Attributes:
        heights: by workload: a column for each stage, and `training_s`; NaN draws nothing.
        label: in the legend.
    """

    heights: pd.DataFrame
    label: str

    def draw(self, axes: Axes, workloads: Iterable[str], bars: Sequence[str], width: float) -> None:
        """Draw an outline for each bar, and make room for the tallest.

        Args:
            axes: where the bars are.
            workloads: of the groups, from left to right.
            bars: of a group, from left to right: columns of `heights`.
            width: of a bar.
        """
        found = self.heights.reindex(index=list(workloads), columns=list(bars))
        is_log = axes.get_yscale() == "log"
        for number, bar in enumerate(bars):
            x = [middle_of(group, number, len(bars), width) for group in range(len(found))]
            if is_log:
                draw_ends(
                    axes, x, found[bar], width, color=OUTLINE["edgecolor"], linestyle=(0, (1.6, 0.8)), linewidth=2
                )
            else:
                axes.bar(x, found[bar], width, fill=False, **OUTLINE)
        if is_log:
            return
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, max(top, ABOVE_TALLEST * found.max().max()))

    def patch(self) -> Patch:
        """Return the legend's entry."""
        return Patch(fill=False, label=self.label, **OUTLINE)


def draw_ends(axes: Axes, x: Iterable[float], heights: pd.Series, width: float, **look: Any) -> None:
    """Draw the upper ends of bars alone on an axis with powers of two, which ends at powers of two around all."""
    known = [(middle, height) for middle, height in zip(x, heights, strict=True) if height > 0]
    for middle, height in known:
        axes.plot([middle - width / 2, middle + width / 2], [height, height], solid_capstyle="butt", **look)
    ends = [end for line in axes.get_lines() for end in np.asarray(line.get_ydata(), dtype=float)]
    if ends:
        axes.set_ylim(2 ** math.floor(math.log2(min(ends)) - 0.3), 2 ** math.ceil(math.log2(max(ends)) + 0.3))
        axes.yaxis.set_major_locator(LogLocator(2, numticks=5))


def middle_of(group: int, number: int, bars: int, width: float) -> float:
    """Return where the middle of a bar is: the one of this number, from 0 on, in a group of so many."""
    return group + (number - (bars - 1) / 2) * width


def figure_width(workloads: int) -> float:
    """Return the width in inches that gives every group of bars the room that it has in a paper."""
    return COLUMN_INCHES * max(1.0, workloads / 4)


def draw_stacks(
    axes: Axes,
    table: pd.DataFrame,
    value: str,
    stages: tuple[str, ...],
    look: Callable[[Mapping[Hashable, object]], Look],
    outlines: Outlines | None = None,
) -> None:
    """Draw one group per workload, one bar per stage, one piece per row, in the order of the rows.

    Args:
        axes: where to draw.
        table: workload, stage, and the columns that `value` and `look` need.
        value: the column with the heights.
        stages: the bars of a group, from left to right; the first group's are numbered.
        look: the colour and hatch of a row.
        outlines: around the bars.
    """
    width = GROUP_WIDTH / len(stages)
    for group, (_, rows) in enumerate(table.groupby("workload", sort=False)):
        for number, stage in enumerate(stages):
            x = middle_of(group, number, len(stages), width)
            top = 0.0
            for row in rows[rows["stage"] == stage].to_dict("records"):
                colour, hatch = look(row)
                axes.bar(x, row[value], width, bottom=top, color=colour, edgecolor="black", hatch=hatch, linewidth=0.8)
                top += row[value]
            if group == 0:
                axes.annotate(
                    f"({number + 1})", (x, top), (0, 1), textcoords="offset points", ha="center", va="bottom", size=6.5
                )
    axes.set_ylim(0, ABOVE_TALLEST * max(tallest(table, value), 1e-12))
    if outlines:
        outlines.draw(axes, dict.fromkeys(table["workload"]), stages, width)


def tallest(table: pd.DataFrame, value: str) -> float:
    """Return the height of the tallest bar."""
    return float(table.groupby(["workload", "stage"])[value].sum().max()) if len(table) else 0.0


def name_groups(axes: Axes, workloads: Iterable[str], labels: Mapping[str, str], title: str) -> None:
    """Write each workload's label under its group, and what the workloads differ in under all; slanted where one is
    wider than its group.
    """
    names = [labels.get(workload) or as_label(workload) for workload in workloads]
    longest = max((len(line) for name in names for line in name.splitlines()), default=0)
    figure = axes.get_figure(root=True)
    room_inches = axes.get_position().width * (figure.get_figwidth() if figure else 0) / max(1, len(names))
    slanted: dict[str, Any] = (
        {"rotation": 25, "ha": "right", "rotation_mode": "anchor"} if LETTER_INCHES * longest > room_inches else {}
    )
    axes.set_xticks(range(len(names)), names, **slanted)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_xlabel(title, labelpad=2)


def as_label(name: str) -> str:
    """Return the name of a trace or a process, which may be anything, as Matplotlib text: no formulas, not without
    end.
    """
    shown = printable(name)
    if len(shown) > LONGEST_NAME:
        shown = f"{shown[: LONGEST_NAME - 1]}…"
    return shown.replace("$", r"\$")


def draw_keys(
    figure: Figure,
    top: Axes,
    bottom: Axes,
    looks: Iterable[Patch],
    stages: tuple[str, ...],
    outlines: Outlines | None = None,
) -> None:
    """Put the legend right of the uppermost axes, and right of the lowest the box that says what the numbers mean."""
    legend = figure.legend(
        handles=[*looks, *([outlines.patch()] if outlines else [])],
        **BESIDE,
        bbox_transform=top.transAxes,
        **HATCHED,
        handletextpad=0.5,
        labelspacing=0.35,
    )
    box = figure.legend(
        handles=[
            Patch(visible=False, label=f"({number}) {STAGE_LABELS[stage]}")
            for number, stage in enumerate(stages, start=1)
        ],
        loc="lower left",
        bbox_to_anchor=(KEYS_LEFT, 0.0),
        bbox_transform=bottom.transAxes,
        borderaxespad=0,
        handlelength=0,
        handletextpad=0,
    )
    with unknown_glyphs():
        figure.draw_without_rendering()  # gives both their places
    end_of_legend = legend.get_window_extent().y0
    if box.get_window_extent().y1 > end_of_legend:
        box.set_loc("upper left")
        below = bottom.transAxes.inverted().transform((0, end_of_legend))[1] - 0.03
        box.set_bbox_to_anchor((KEYS_LEFT, below), bottom.transAxes)


def category_patch(category: str) -> Patch:
    """Return the legend's entry for a category."""
    return Patch(
        facecolor="white", edgecolor="black", hatch=CATEGORY_HATCHES[category], label=CATEGORY_LABELS[category]
    )


def resource_patch(resource: str) -> Patch:
    """Return the legend's entry for a resource."""
    return Patch(color=RESOURCE_COLOURS[resource], label=RESOURCE_LABELS[resource])
