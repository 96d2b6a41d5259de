"""This file draws what fused steps bring robots and CartPole, and how near their kernels are to the device's limits."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.data_collection.robots.limits import COUNTERS
from experiments.data_collection.robots.metrics import gains
from experiments.data_collection.throughput import CARTPOLE, Throughputs
from experiments.verdicts.statistics import estimated_mean
from rlscope.plots import style
from rlscope.plots.bars import BESIDE, as_label
from rlscope.text.numbers import prefixed

GAIN = "speedup by fusion"
#: Of the steps that a launch fuses.
COLOURS = {1: "tab:gray", 10: "tab:cyan", 100: "tab:green"}
PANEL_INCHES = (2.6, 1.9)
BAR = 0.36


def limits_table(measured: Throughputs, limits: pd.DataFrame) -> pd.DataFrame:
    """Return the table behind the figure.

    Args:
        measured: with the lines of the kernels.
        limits: as of robot_limits.csv.

    Returns:
        simulator, steps_per_call, quantity (GAIN, or one of COUNTERS), value with the ends of its 95 % interval, and
        repetitions; empty where nothing of robots was measured.
    """
    found = {(simulator, steps, GAIN): gain for (simulator, steps), gain in gains(measured).items()}
    if all(simulator == CARTPOLE for simulator, _, _ in found):
        return pd.DataFrame()
    for (simulator, steps, metric), rows in limits.groupby(["simulator", "steps_per_call", "metric"], sort=False):
        found[str(simulator), int(steps), COUNTERS[str(metric)]] = estimated_mean(list(rows["percent"]))
    return pd.DataFrame(
        {
            "simulator": simulator,
            "steps_per_call": steps,
            "quantity": quantity,
            **estimate.columns("value"),
            "repetitions": estimate.repetitions,
        }
        for (simulator, steps, quantity), estimate in found.items()
    )


def limits_figure(table: pd.DataFrame) -> Figure:
    """Draw a panel of bars for each quantity, a group for each simulator and a bar for each number of steps.

    Args:
        table: of `limits_table`.
    """
    quantities = [quantity for quantity in (GAIN, *COUNTERS.values()) if (table["quantity"] == quantity).any()]
    simulators = list(dict.fromkeys(table["simulator"]))
    with style.paper():
        width, height = PANEL_INCHES
        figure = Figure(figsize=(width * len(quantities), height), dpi=200)
        for axes, quantity in zip(np.ravel(figure.subplots(1, len(quantities))), quantities, strict=True):
            draw_panel(axes, table[table["quantity"] == quantity], simulators)
            axes.set_title(as_label(quantity), size=8)
            if quantity == GAIN:
                axes.axhline(1, color="dimgrey", linestyle="--", linewidth=0.8)
                axes.margins(y=0.15)
            else:
                axes.set_ylim(0, 115)
        steps_drawn = sorted(table["steps_per_call"].unique())
        handles = [Patch(facecolor=COLOURS[steps], edgecolor="black", label=f"K = {steps}") for steps in steps_drawn]
        figure.axes[-1].legend(handles=handles, **BESIDE, fontsize=7)
        figure.subplots_adjust(wspace=0.28)
    return figure


def draw_panel(axes: Axes, rows: pd.DataFrame, simulators: list[str]) -> None:
    """Draw the bars of one quantity with their intervals."""
    axes.set_axisbelow(True)
    axes.grid(color="lightgrey", linewidth=0.5, axis="y")
    steps_drawn = sorted(rows["steps_per_call"].unique())
    for number, steps in enumerate(steps_drawn):
        own = rows[rows["steps_per_call"] == steps].set_index("simulator").reindex(simulators)
        places = np.arange(len(simulators)) + BAR * (number - (len(steps_drawn) - 1) / 2)
        bars = axes.bar(places, own["value"], BAR, color=COLOURS[steps], edgecolor="black", linewidth=0.5)
        axes.bar_label(bars, fmt=prefixed, size=5, padding=2, rotation=90)
        ends = np.abs(own[["value_low", "value_high"]].sub(own["value"], axis=0)).T
        axes.errorbar(places, own["value"], yerr=ends, fmt="none", ecolor="black", elinewidth=0.7, capsize=1.5)
    names = [as_label(simulator.split()[-1]) for simulator in simulators]
    axes.set_xticks(range(len(simulators)), names, rotation=30, ha="right", size=7)
