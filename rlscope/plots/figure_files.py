"""This file writes a figure in every format, with the numbers that it shows."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from rlscope.plots.style import save_figure
from rlscope.plots.tables import write_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_FORMATS = ("pdf", "svg", "png")


def write_figure(figure: "Figure", table: pd.DataFrame, stem: Path) -> None:
    """Write a figure in every format, and the numbers that it shows: `stem` is the path without a suffix."""
    save_figure(figure, *(stem.with_name(f"{stem.name}.{kind}") for kind in FIGURE_FORMATS))
    write_csv(table, stem.with_name(f"{stem.name}.csv"))
