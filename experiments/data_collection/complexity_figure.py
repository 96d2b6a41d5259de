"""This file draws the speedup that fused steps bring simulators, over the size of their state."""

from collections.abc import Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from experiments.verdicts.published import Line
from rlscope.plots import style
from rlscope.plots.bars import BESIDE

PANEL_INCHES = (1.75, 1.5)
COLOURS = "viridis"


def complexity_figure(table: pd.DataFrame, published: Sequence[Line] = ()) -> Figure:
    """Draw a grid of panels, a row for each number of fused steps and a column for each number of environments.

    Args:
        table: environments, steps_per_call, state_factor, compute_factor, speedup; cells may be missing.
        published: values of the published figure, whose panels are named by the steps: "K = 10".
    """
    columns = sorted(table["environments"].unique())
    rows = sorted(table["steps_per_call"].unique())
    factors = sorted(table["compute_factor"].unique())
    colours = {factor: mpl.colormaps[COLOURS](number / len(factors)) for number, factor in enumerate(factors)}
    with style.paper():
        width, height = PANEL_INCHES
        figure = Figure(figsize=(width * len(columns), height * len(rows)), dpi=200)
        grid = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True, sharey="row")
        for line, steps in zip(grid, rows, strict=True):
            for axes, environments in zip(line, columns, strict=True):
                panel = table[(table["steps_per_call"] == steps) & (table["environments"] == environments)]
                axes.set_xscale("log", base=2)
                axes.set_yscale("log", base=2)
                axes.set_axisbelow(True)
                axes.grid(color="lightgrey", linewidth=0.5)
                axes.axhline(steps, color="dimgrey", linestyle="--", linewidth=0.8)
                for mark in published:
                    if mark.panel in ("", f"K = {steps}"):
                        mark.draw(axes)
                for factor, cells in panel.groupby("compute_factor"):
                    ordered = cells.sort_values("state_factor")
                    axes.plot(
                        ordered["state_factor"],
                        ordered["speedup"],
                        color=colours[factor],
                        marker="o",
                        markersize=2,
                        linewidth=1,
                    )
            line[0].set_ylabel(f"Speedup, K = {steps}")
        for axes, environments in zip(grid[0], columns, strict=True):
            axes.set_title(f"{environments} environments", size=8)
        for axes in grid[-1]:
            axes.set_xlabel("State factor, S")
        handles = [
            mpl.lines.Line2D([], [], color=colours[factor], marker="o", markersize=2, label=f"C = {factor}")
            for factor in factors
        ]
        handles.append(mpl.lines.Line2D([], [], color="dimgrey", linestyle="--", linewidth=0.8, label="limit, K"))
        if published:
            handles.append(mpl.lines.Line2D([], [], label="at most, as published", **Line.look))
        figure.legend(
            handles=handles,
            **BESIDE,
            bbox_transform=grid[0][-1].transAxes,
        )
        figure.subplots_adjust(wspace=0.08, hspace=0.12)
    return figure
