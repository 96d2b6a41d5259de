"""This file draws how frameworks compare as published: time above, transitions below, an algorithm in each column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from rlscope.plots import style
from rlscope.plots.bars import Outlines, draw_keys
from rlscope.plots.breakdown import draw_breakdown, legend, stages_of
from rlscope.plots.tables import TRAINING_TIME
from rlscope.plots.transitions import draw_transitions

TITLE = "Framework and execution model"
GROUP_INCHES = 0.8  # that a workload has of a column
GAPS = {"wspace": 0.17, "hspace": 0.08}
#: Heights of totals, bars, the gap with their names, and transitions.
HEIGHTS = (1, 2.5, 0.75, 2.5)
HEIGHT_INCHES = 6.2


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
            draw_breakdown(totals, bars, column.time, "seconds", labels, title, TRAINING_TIME, False, of_time)
            title = f"{TITLE}\n({below}) {column.name}: transitions"
            draw_transitions(calls, column.transitions, "per_timestep", labels, title, of_calls)
            if place:
                for axes in (totals, bars, calls):
                    axes.set_ylabel("")
        figure.align_ylabels()
        outlines = next((found for column in columns for found in column.outlines if found), None)
        draw_keys(figure, totals, bars, legend(everything), stages_of(everything), outlines)
    return figure
