"""This file draws how long training takes by sampler, and what a vector step of each is made of."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from rlscope.plots import style
from rlscope.plots.bars import BESIDE, GROUP_WIDTH, HATCHED
from rlscope.text.numbers import digits

SOURCE_COLOURS = ("#b3cde3", "#6497b1", "#fbb4ae", "#fed9a6", "#ccebc5")
HOUR_TICKS = {0.25: "1/4", 0.5: "1/2", 1: "1", 2: "2", 4: "4", 8: "8"}
#: Between the lowest value of a logarithmic axis and its end, and likewise above the highest.
AXIS_MARGIN = 1.6
TRAIN_INCHES, DIAGNOSTIC_INCHES = 2.8, 2.9
BAR_INCHES = 0.7

#: Parts of a vector step from the bottom of a bar to its top, with colour, hatch and label.
PART_LOOKS = {
    "inference": ("#ccebc5", style.CATEGORY_HATCHES["backend"], "Inference"),
    "simulation": ("#b3cde3", style.CATEGORY_HATCHES["simulator"], "Simulation: steps"),
    "reset": ("#6497b1", style.CATEGORY_HATCHES["simulator"], "Simulation: resets"),
    "wait": ("#fbb4ae", style.CATEGORY_HATCHES["wait"], "Waiting for others"),
    "rest": ("#f2f2f2", "", "Rest"),
}


def train_time_figure(table: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw hours of training: a group of bars for each sampler, a bar for each source, on a logarithmic axis.

    Args:
        table: `sampler` (text under its group), `source` (at most five), `hours`, `hours_low`, `hours_high`, which are
            NaN where there is no interval; samplers and sources keep the order of the rows.
        published: `sampler`, `hours_low`, `hours_high`: drawn as a band across the group.
    """
    with style.paper():
        figure = Figure(figsize=(1.5 * style.COLUMN_INCHES, TRAIN_INCHES), dpi=200)
        axes = figure.subplots()
        axes.set_yscale("log")
        axes.set_axisbelow(True)
        axes.grid(axis="y", color="lightgrey", linewidth=0.5)
        samplers = list(dict.fromkeys(table["sampler"]))
        draw_published(axes, samplers, published)
        draw_hours(axes, samplers, table)
        ends = ["hours", "hours_low", "hours_high"]
        lowest = min(table[ends].min().min(), published["hours_low"].min())
        highest = max(table[ends].max().max(), published["hours_high"].max())
        axes.set_ylim(lowest / AXIS_MARGIN, highest * AXIS_MARGIN)
        axes.set_yticks(list(HOUR_TICKS), list(HOUR_TICKS.values()))
        axes.minorticks_off()
        axes.set_xticks(range(len(samplers)), samplers, fontsize=6.5)
        axes.set_ylabel("Hours of training")
    return figure


def draw_hours(axes: Axes, samplers: list[str], table: pd.DataFrame) -> None:
    """Draw a bar with its interval for each row, and the key of the sources."""
    sources = list(dict.fromkeys(table["source"]))
    width = GROUP_WIDTH / len(sources)
    for row in table.itertuples():
        x = samplers.index(row.sampler) + (sources.index(row.source) - (len(sources) - 1) / 2) * width
        interval = np.array([[row.hours - row.hours_low], [row.hours_high - row.hours]])
        colour = SOURCE_COLOURS[sources.index(row.source)]
        axes.bar(x, row.hours, width, color=colour, edgecolor="black", linewidth=0.8)
        axes.errorbar(x, row.hours, interval, color="black", linewidth=0.8, capsize=1.5)
        top = row.hours if math.isnan(row.hours_high) else row.hours_high
        axes.annotate(digits(row.hours), (x, top), (0, 1.5), textcoords="offset points", ha="center", size=6)
    patches = [
        Patch(facecolor=colour, edgecolor="black", label=source)
        for source, colour in zip(sources, SOURCE_COLOURS, strict=False)
    ]
    axes.legend(
        handles=[*patches, Patch(facecolor="none", edgecolor="dimgrey", linestyle="--", label="Published")],
        **BESIDE,
        fontsize=7,
    )


def draw_published(axes: Axes, samplers: list[str], published: pd.DataFrame) -> None:
    """Draw the published range behind each sampler's bars; one number is a line."""
    for row in published.itertuples():
        left = samplers.index(row.sampler) - 0.47
        if row.hours_low == row.hours_high:
            axes.hlines(row.hours_low, left, left + 0.94, color="dimgrey", linestyle="--", linewidth=0.9)
        else:
            axes.bar(
                left,
                row.hours_high - row.hours_low,
                0.94,
                bottom=row.hours_low,
                align="edge",
                facecolor="#eeeeee",
                edgecolor="dimgrey",
                linestyle="--",
                linewidth=0.9,
            )


def sampling_diagnostic_figure(table: pd.DataFrame) -> Figure:
    """Draw what a vector step of each sampler is made of: a stacked bar for each, a panel with an axis for each group.

    Args:
        table: `group` (title of the panel), `sampler` (text under its bar), `part` (a key of PART_LOOKS) and
            `milliseconds` of one vector step.
    """
    panels = list(table.groupby("group", sort=False))
    bars = [rows["sampler"].nunique() for _, rows in panels]
    with style.paper():
        figure = Figure(figsize=(BAR_INCHES * sum(bars) + len(panels), DIAGNOSTIC_INCHES), dpi=200)
        for axes, (group, rows) in zip(
            figure.subplots(1, len(panels), squeeze=False, width_ratios=bars)[0], panels, strict=True
        ):
            draw_parts(axes, rows)
            axes.set_title(str(group), fontsize=8)
        figure.axes[0].set_ylabel("Milliseconds of one vector step")
        axes.legend(
            handles=[
                Patch(facecolor=colour, hatch=hatch, edgecolor="black", label=label)
                for colour, hatch, label in reversed(PART_LOOKS.values())
            ],
            **BESIDE,
            **HATCHED,
        )
    return figure


def draw_parts(axes: Axes, table: pd.DataFrame) -> None:
    """Draw the bars of one panel, with their totals on top."""
    samplers = list(dict.fromkeys(table["sampler"]))
    tops = dict.fromkeys(samplers, 0.0)
    for part, (colour, hatch, _) in PART_LOOKS.items():
        for row in table[table["part"] == part].itertuples():
            axes.bar(
                samplers.index(row.sampler),
                row.milliseconds,
                GROUP_WIDTH,
                bottom=tops[row.sampler],
                color=colour,
                hatch=hatch,
                edgecolor="black",
                linewidth=0.8,
            )
            tops[row.sampler] += row.milliseconds
    for x, top in enumerate(tops.values()):
        axes.annotate(digits(top), (x, top), (0, 1.5), textcoords="offset points", ha="center", size=7)
    axes.set_ylim(0, 1.1 * max(tops.values()))
    axes.set_xlim(-0.6, len(samplers) - 0.4)
    axes.set_xticks(range(len(samplers)), samplers, fontsize=6)
