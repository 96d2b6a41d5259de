"""Steps of environments in lock-step as grids of cells: a row is a step, which takes as long as its longest cell."""

from collections.abc import Sequence

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rlscope.plots import style
from rlscope.plots.bars import as_label

ORDINARY, LONGEST = "white", style.RESOURCE_COLOURS["cpu"]
CELL_INCHES = 0.34
#: Cells that a grid has room for, so that its title does not run into the next.
NARROWEST = 5


def step_grids_figure(table: pandas.DataFrame) -> Figure:
    """Draw each grid with the longest cell of each row beside it and their mean below.

    Args:
        table: `grid` (its title), `step`, `environment`, `milliseconds`; a row for each cell.
    """
    grids = [(str(title), cells_of(rows)) for title, rows in table.groupby("grid", sort=False)]
    columns = [max(len(cells[0]) + 2, NARROWEST) for _, cells in grids]
    height = max(len(cells) for _, cells in grids) + 2
    with style.paper():
        figure = Figure(figsize=(CELL_INCHES * (sum(columns) + len(grids)), CELL_INCHES * (height + 1)), dpi=200)
        panels = figure.subplots(1, len(grids), squeeze=False, width_ratios=columns)[0]
        for axes, (title, cells) in zip(panels, grids, strict=True):
            draw_grid(axes, title, cells, height)
    return figure


def cells_of(rows: pandas.DataFrame) -> list[list[float]]:
    """Return the milliseconds of a grid, by step and environment."""
    table = rows.pivot_table(index="step", columns="environment", values="milliseconds", sort=True)
    return [[float(cell) for cell in row] for row in table.to_numpy()]


def draw_grid(axes: Axes, title: str, cells: Sequence[Sequence[float]], height: int) -> None:
    """Draw one grid, with its first row on top."""
    environments = len(cells[0])
    shortest = min(min(row) for row in cells)
    for step, row in enumerate(cells):
        for environment, cell in enumerate(row):
            colour = LONGEST if cell == max(row) and cell > shortest else ORDINARY
            axes.add_patch(Rectangle((environment, step), 1, 1, facecolor=colour, edgecolor="black", linewidth=0.8))
            write(axes, environment, step, f"{cell:g}")
        write(axes, environments + 0.3, step, f"{max(row):g}", weight="bold")
    mean = sum(max(row) for row in cells) / len(cells)
    middle = (environments + 1.5) / 2
    axes.text(middle, len(cells) + 0.55, f"mean {mean:.3g} ms", ha="center", va="center", weight="bold")
    axes.text(environments + 0.8, -0.35, "longest", ha="center", va="center", size=6.5)
    axes.set_title(as_label(title), fontsize=8)
    spare = max(0, NARROWEST - environments - 2) / 2
    axes.set_xlim(-0.1 - spare, environments + 1.5 + spare)
    axes.set_ylim(height - 1, -0.7)
    axes.set_aspect("equal")
    axes.set_anchor("N")
    axes.axis("off")


def write(axes: Axes, column: float, row: float, text: str, weight: str = "normal") -> None:
    """Write into the middle of a cell."""
    axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", weight=weight)
