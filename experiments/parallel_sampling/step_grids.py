"""This file draws steps in lock-step as grids of cells: a row is a step, which takes as long as its longest cell."""

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from rlscope.plots import style
from rlscope.plots.bars import as_label
from rlscope.text.numbers import digits

ORDINARY, LONGEST = "white", style.RESOURCE_COLOURS["cpu"]
CELL_INCHES = 0.34
#: Cells that a grid has room for, so that its title does not run into the next.
NARROWEST = 5


def step_grids_figure(table: pd.DataFrame) -> Figure:
    """Draw each grid with the longest cell of each row beside it and their mean below.

    Args:
        table: `grid` (its title), `step`, `environment`, `milliseconds`; a row for each cell.
    """
    grids = [(str(title), cells_of(rows)) for title, rows in table.groupby("grid", sort=False)]
    columns = [max(cells.shape[1] + 2, NARROWEST) for _, cells in grids]
    height = max(len(cells) for _, cells in grids) + 2
    with style.paper():
        figure = Figure(figsize=(CELL_INCHES * (sum(columns) + len(grids)), CELL_INCHES * (height + 1)), dpi=200)
        panels = figure.subplots(1, len(grids), squeeze=False, width_ratios=columns)[0]
        for axes, (title, cells) in zip(panels, grids, strict=True):
            draw_grid(axes, title, cells, height)
    return figure


def cells_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the milliseconds of a grid: a row for each step, a column for each environment."""
    return rows.pivot_table(index="step", columns="environment", values="milliseconds", sort=True)


def draw_grid(axes: Axes, title: str, cells: pd.DataFrame, height: int) -> None:
    """Draw one grid, with its first row on top."""
    steps, environments = cells.shape
    longest = cells.max(axis=1)
    is_longest = cells.eq(longest, axis=0) & (cells > cells.min(axis=None))
    sns.heatmap(
        is_longest.astype(float),
        annot=cells,
        fmt="g",
        annot_kws={"color": "black"},
        cmap=ListedColormap([ORDINARY, LONGEST]),
        vmin=0,
        vmax=1,
        linewidths=0.4,
        linecolor="black",
        cbar=False,
        square=True,
        xticklabels=False,
        yticklabels=False,
        ax=axes,
    )
    bold: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold"}
    for row, value in enumerate(longest):
        axes.text(environments + 0.8, row + 0.5, digits(value), **bold)
    axes.text((environments + 1.5) / 2, steps + 0.55, f"mean {digits(longest.mean())} ms", **bold)
    axes.text(environments + 0.8, -0.35, "longest", ha="center", va="center", size=6.5)
    axes.set_title(as_label(title), fontsize=8)
    spare = max(0, NARROWEST - environments - 2) / 2
    axes.set_xlim(-0.1 - spare, environments + 1.5 + spare)
    axes.set_ylim(height - 1, -0.7)
    axes.set_anchor("N")
    axes.axis("off")
