"""This file draws where a compiled collection spends its time and how often it crosses layers, by steps per call."""

import pandas as pd
from matplotlib.figure import Figure

from rlscope.plots import style
from rlscope.plots.bars import BESIDE, GROUP_WIDTH, HATCHED, Outlines
from rlscope.plots.breakdown import legend, look
from rlscope.plots.tables import in_stack_order

STEPS_PER_CALL = "Steps per call, K"
#: Column, label, colour and marker of what is counted.
COUNTED = (
    ("backend", "Python → Backend", "#0072b2", "o"),
    ("cuda", "Backend → CUDA", "#e69f00", "s"),
    ("kernels", "Kernels executed", "#009e73", "^"),
)


def layers_figure(table: pd.DataFrame, outlines: Outlines | None = None) -> Figure:
    """Draw a stacked bar for each number of steps per call.

    Args:
        table: steps_per_call, category, resource, percent.
        outlines: the upper ends of published pieces, by the steps per call.
    """
    steps = sorted(table["steps_per_call"].unique())
    with style.paper():
        figure = Figure(figsize=(0.8 * style.COLUMN_INCHES, style.PANEL_INCHES), dpi=200)
        axes = figure.subplots()
        for place, steps_per_call in enumerate(steps):
            top = 0.0
            for row in in_stack_order(table[table["steps_per_call"] == steps_per_call]).to_dict("records"):
                colour, hatch = look(row)
                axes.bar(
                    place,
                    row["percent"],
                    GROUP_WIDTH,
                    bottom=top,
                    color=colour,
                    edgecolor="black",
                    hatch=hatch,
                    linewidth=0.8,
                )
                top += row["percent"]
        if outlines:
            for piece in outlines.heights:
                outlines.draw(axes, steps, [piece], GROUP_WIDTH)
        axes.set_ylim(0, 100)
        axes.set_ylabel("Percent (%)")
        axes.set_xticks(range(len(steps)), [str(number) for number in steps])
        axes.set_xlabel(STEPS_PER_CALL)
        axes.legend(
            handles=[*legend(table), *([outlines.patch()] if outlines else [])],
            **BESIDE,
            **HATCHED,
        )
    return figure


def crossings_figure(table: pd.DataFrame) -> Figure:
    """Draw how often one call crosses, a line for each kind, both scales logarithmic.

    Args:
        table: steps_per_call and a column for each of COUNTED, per call; kinds that never occur are left out.
    """
    with style.paper():
        figure = Figure(figsize=(0.8 * style.COLUMN_INCHES, 0.8 * style.PANEL_INCHES), dpi=200)
        axes = figure.subplots()
        axes.set_xscale("log", base=10)
        axes.set_yscale("log", base=10)
        axes.set_axisbelow(True)
        axes.grid(color="lightgrey", linewidth=0.5)
        ordered = table.sort_values("steps_per_call")
        for column, label, colour, marker in COUNTED:
            if (ordered[column] > 0).any():
                axes.plot(ordered["steps_per_call"], ordered[column], color=colour, marker=marker, label=label)
        axes.set_xlabel(STEPS_PER_CALL)
        axes.set_ylabel("Per call")
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 0.5), max(high, 20))
        axes.legend(**BESIDE)
    return figure
