"""This file draws how frameworks compare as published: time above, transitions below, an algorithm in each column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rlscope.plots import style
from rlscope.plots.bars import GROUP_WIDTH, Outlines, draw_keys
from rlscope.plots.breakdown import draw_breakdown, keep_ticks_off_the_edge, legend, stages_of
from rlscope.plots.tables import TRAINING_TIME
from rlscope.plots.transitions import draw_transitions
from rlscope.text.numbers import prefixed

TITLE = "Framework and execution model"
GROUP_INCHES = 0.7  # that a workload has of a column
GAPS = {"wspace": 0.13, "hspace": 0.08, "left": 0.0, "right": 1.0, "bottom": 0.0, "top": 1.0}
#: Heights of totals, bars, the gap with their names, and transitions.
HEIGHTS = (1, 2.5, 0.75, 2.5)
HEIGHT_INCHES = 5.2
#: How much taller than those of all others a workload's bars are that are cut, and where, in heights of the others'.
MOST_TIMES, ABOVE_SECOND = 2.5, 1.5


@dataclass(frozen=True)
class Column:
    """The two panels of an algorithm.

    Attributes:
        name: of it, and of its simulator.
        time: as from `mean_table`.
        transitions: as from `mean_transitions`.
        letters: of both panels.
        outlines: of both panels, where they were published.
    """

    name: str
    time: pd.DataFrame
    transitions: pd.DataFrame
    letters: tuple[str, str]
    outlines: tuple[Outlines | None, Outlines | None]

    @property
    def table(self) -> pd.DataFrame:
        """Return the numbers of both, with the letter of the panel in front."""
        tables = zip(self.letters, (self.time, self.transitions), strict=True)
        return pd.concat([table.assign(panel=letter).set_index("panel").reset_index() for letter, table in tables])


def framework_figure(columns: Sequence[Column], labels: Mapping[str, str]) -> Figure:
    """Draw a column of panels for each algorithm.

    Args:
        columns: at least one.
        labels: the text under each workload.
    """
    widths = [GROUP_INCHES * column.time["workload"].nunique() for column in columns]
    everything = pd.concat([column.time for column in columns])
    with style.paper():
        figure = Figure(figsize=(sum(widths) * (1 + GAPS["wspace"]), HEIGHT_INCHES), dpi=200)
        grid = figure.add_gridspec(len(HEIGHTS), len(columns), width_ratios=widths, height_ratios=HEIGHTS, **GAPS)
        for place, column in enumerate(columns):
            totals = figure.add_subplot(grid[0, place])
            bars = figure.add_subplot(grid[1, place], sharex=totals)
            totals.tick_params(labelbottom=False)
            calls = figure.add_subplot(grid[3, place])
            (above, below), (of_time, of_calls) = column.letters, column.outlines
            title = f"{TITLE}\n({above}) {column.name}: time"
            draw_breakdown(totals, bars, column.time, "seconds", labels, title, TRAINING_TIME, True, of_time)
            cut_tallest(bars, column.time)
            title = f"{TITLE}\n({below}) {column.name}: transitions"
            draw_transitions(calls, column.transitions, "per_timestep", labels, title, of_calls)
            if place:
                for axes in (totals, bars, calls):
                    axes.set_ylabel("")
        figure.align_ylabels()
        outlines = next((found for column in columns for found in column.outlines if found), None)
        draw_keys(figure, totals, bars, legend(everything), stages_of(everything), outlines)
    return figure


def cut_tallest(axes: Axes, table: pd.DataFrame) -> None:
    """End the axis above all workloads but the slowest, if that one would make slivers of the others; what its cut bars
    reach stands beside them.

    Args:
        axes: with the bars of `table`, in seconds.
        table: as from `mean_table`.
    """
    heights = table.groupby(["workload", "stage"], sort=False)["seconds"].sum()
    tallest = heights.groupby("workload", sort=False).max().sort_values(ascending=False)
    if len(tallest) < 2 or tallest.iloc[0] < MOST_TIMES * tallest.iloc[1]:
        return
    top = ABOVE_SECOND * tallest.iloc[1]
    axes.set_ylim(0, top)
    keep_ticks_off_the_edge(axes)
    top = axes.get_ylim()[1]
    name = tallest.index[0]
    bars = stages_of(table)
    cut = {bars.index(stage) + 1: height for stage, height in heights[name].items() if height > top}
    said = "\n".join(f"({number}) {prefixed(height)}s" for number, height in cut.items())
    group = list(dict.fromkeys(table["workload"])).index(name)
    paper = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    place = (group + GROUP_WIDTH / 2, top)
    axes.annotate(said, place, (1, -3), textcoords="offset points", va="top", size=6.5, bbox=paper)
