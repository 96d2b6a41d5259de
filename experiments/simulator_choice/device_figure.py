"""This file draws trainings whose simulators run on a GPU: time by stage, the GPU's work, launches, and speed."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from experiments.simulator_choice.device_metrics import PARTS
from rlscope.plots import style
from rlscope.plots.bars import OUTLINE

#: Colours of PARTS.
COLOURS = ("#80b1d3", "#ffffb3", "#fb8072", "#bebada", "#8dd3c7", "#e6e6e6")
#: Column, label, marker, colour and place of what is counted per step.
COUNTED = (
    ("launches_per_step", "Launches", "^", "#0072b2", -0.18),
    ("kernels_per_step", "Kernels", "s", "#e69f00", 0.0),
    ("waits_per_step", "Waits for the GPU", "o", "#009e73", 0.18),
)
#: Timesteps a second that others have published of training, updates included (claims F-06 and F-07).
RECORDS = {"PufferLib 3.0, RTX 5090": 4e6, "mjlab, Go1": 1.9e5}
BAR_WIDTH = 0.6
WORKLOAD_INCHES, PANEL_INCHES = 0.85, 1.25
#: Below this the axis of counts is linear, as it has zero.
LINEAR_TO = 0.1


def device_figure(table: pd.DataFrame, labels: Mapping[str, str]) -> Figure:
    """Draw four panels above each other, with a place for each workload.

    Args:
        table: as from `device_table`.
        labels: the text under each place.
    """
    places = range(len(table))
    with style.paper():
        figure = Figure(figsize=(1 + WORKLOAD_INCHES * len(table), 4 * PANEL_INCHES), dpi=200)
        stages, busy, counts, speed = figure.subplots(4, 1, sharex=True, gridspec_kw={"height_ratios": (1.3, 1, 1, 1)})
        draw_stages(stages, places, table)
        draw_busy(busy, places, table)
        draw_counts(counts, places, table)
        draw_speed(speed, places, table)
        for axes in (stages, busy, counts, speed):
            axes.set_axisbelow(True)
            axes.grid(axis="y", color="lightgrey", linewidth=0.5)
        speed.set_xticks(places, [labels[name] for name in table["workload"]])
        figure.align_ylabels()
    return figure


def beside(axes: Axes) -> None:
    """Put the legend of a panel to its right."""
    handles, names = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], names[::-1], loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, fontsize=7)


def draw_stages(axes: Axes, places: Sequence[int], table: pd.DataFrame) -> None:
    """Draw the shares of the loop, stacked; parts that none has are left out."""
    bottom = np.zeros(len(table))
    for part, colour in zip(PARTS, COLOURS, strict=True):
        percent = table[f"{part}_percent"].to_numpy()
        if percent.any():
            label = style.STAGE_LABELS.get(part, part.capitalize())
            axes.bar(places, percent, BAR_WIDTH, bottom, color=colour, edgecolor="black", linewidth=0.6, label=label)
        bottom += percent
    axes.set_ylim(0, 100)
    axes.set_ylabel("Loop (%)")
    beside(axes)


def draw_busy(axes: Axes, places: Sequence[int], table: pd.DataFrame) -> None:
    """Draw the share of the loop in which the GPU works."""
    colour = style.RESOURCE_COLOURS["gpu"]
    axes.bar(places, table["busy_percent"], BAR_WIDTH, color=colour, edgecolor="black", linewidth=0.6)
    axes.errorbar(places, table["busy_percent"], ends_of(table, "busy_percent"), fmt="none", ecolor="black", capsize=2)
    axes.set_ylim(0, 100)
    axes.set_ylabel("GPU busy (%)")


def draw_counts(axes: Axes, places: Sequence[int], table: pd.DataFrame) -> None:
    """Draw what is counted of one step of all environments."""
    axes.set_yscale("symlog", linthresh=LINEAR_TO, linscale=0.5)
    for column, label, marker, colour, shift in COUNTED:
        axes.plot(np.array(places) + shift, table[column], marker, color=colour, markersize=4, label=label)
    axes.set_ylim(-LINEAR_TO / 2, max(1.0, 5 * float(table[[column for column, *_ in COUNTED]].max().max())))
    axes.set_ylabel("Per step")
    beside(axes)


def draw_speed(axes: Axes, places: Sequence[int], table: pd.DataFrame) -> None:
    """Draw timesteps a second, beside what others have published."""
    ends = ends_of(table, "steps_per_s")
    axes.errorbar(places, table["steps_per_s"], ends, fmt="o", color="black", capsize=2, markersize=4, label="Measured")
    for (name, rate), line in zip(RECORDS.items(), cycle(("--", ":")), strict=False):
        look = {"color": OUTLINE["edgecolor"], "linestyle": line, "linewidth": 1.1}
        axes.axhline(rate, **look, label=f"published: {name}")
    axes.set_yscale("log", subs=(2, 5))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_minor_formatter(EngFormatter(sep=""))
    axes.set_ylabel("Timesteps/s")
    beside(axes)


def ends_of(table: pd.DataFrame, column: str) -> list[pd.Series]:
    """Return how far the ends of intervals are from their means; 0 where there is no interval."""
    low, high = (table[f"{column}_{end}"].astype(float) for end in ("low", "high"))
    return [(table[column] - low).fillna(0.0), (high - table[column]).fillna(0.0)]
