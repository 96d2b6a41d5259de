"""This file draws what each rank of a distributed training did with its time: computed, or waited for the others."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from rlscope.plots import style
from rlscope.plots.bars import BESIDE, as_label

#: From left to right: the columns of the table, what they are called, colour and hatch.
PIECES = (
    ("compute_s", "Computing", "#fbb4ae", ""),
    ("wait_s", "Waiting for the last rank", "#f2f2f2", "-----"),
    ("transfer_s", "Other communication", "#b3cde3", "xxxx"),
    ("other_wait_s", "Other waiting", "#f2f2f2", ""),
    ("idle_s", "Idle", "#f2f2f2", ""),
)
RANK_INCHES = 0.22
LEAST_INCHES = 1.2


def ranks_figure(table: pd.DataFrame) -> Figure:
    """Draw one bar per rank, as long as it lived.

    Args:
        table: `ranks` or `device_ranks` of an analysis, of at least one rank.
    """
    with style.paper():
        height = max(LEAST_INCHES, RANK_INCHES * (len(table) + 2))
        figure = Figure(figsize=(style.COLUMN_INCHES, height), dpi=200)
        axes = figure.subplots()
        places = np.arange(len(table))
        left = np.zeros(len(table))
        for column, label, colour, hatch in (piece for piece in PIECES if piece[0] in table):
            seconds = table[column].to_numpy()
            axes.barh(
                places, seconds, left=left, color=colour, hatch=hatch, edgecolor="black", linewidth=0.4, label=label
            )
            left += seconds
        axes.set_yticks(places, [as_label(name) for name in table["process"]])
        axes.invert_yaxis()
        axes.set_xlabel("Time (s)")
        axes.set_xlim(0, 1.02 * max(left.max(), 1e-12))
        figure.legend(**BESIDE, bbox_transform=axes.transAxes)
    return figure
