"""This file draws what fused steps bring robots and CartPole, and how near their kernels are to the device's limits."""

import math

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

GAIN = "speedup by fusion"
#: Of the steps that a launch fuses.
COLOURS = {1: "#bfbfbf", 10: "#56b4e9", 100: "#0072b2"}
PANEL_INCHES = (4.1, 1.7)
COLUMNS = 2
BAR = 0.4
LEAST = 0.01  # smaller numbers are not told apart


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
        lines = math.ceil(len(quantities) / COLUMNS)
        figure = Figure(figsize=(width * COLUMNS, height * lines), dpi=200)
        for number, quantity in enumerate(quantities, start=1):
            axes = figure.add_subplot(lines, COLUMNS, number)
            draw_panel(axes, table[table["quantity"] == quantity], simulators)
            axes.set_title(as_label(quantity), size=8)
            if quantity == GAIN:
                axes.axhline(1, color="dimgrey", linestyle="--", linewidth=0.8)
                axes.margins(y=0.2)
            else:
                axes.set_ylim(0, 120)
        steps_drawn = sorted(table["steps_per_call"].unique())
        handles = [Patch(facecolor=COLOURS[steps], edgecolor="black", label=f"K = {steps}") for steps in steps_drawn]
        figure.axes[:COLUMNS][-1].legend(handles=handles, **BESIDE, fontsize=7)
        figure.subplots_adjust(wspace=0.14, hspace=0.5)
    return figure


def short(value: float) -> str:
    """Return a number that fits over a narrow bar: "98", "3.4", "0.92"."""
    if 0 < value < LEAST:
        return f"<{LEAST}"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def draw_panel(axes: Axes, rows: pd.DataFrame, simulators: list[str]) -> None:
    """Draw the bars of one quantity with their intervals."""
    axes.set_axisbelow(True)
    axes.grid(color="lightgrey", linewidth=0.5, axis="y")
    steps_drawn = sorted(rows["steps_per_call"].unique())
    for number, steps in enumerate(steps_drawn):
        own = rows[rows["steps_per_call"] == steps].set_index("simulator").reindex(simulators)
        places = np.arange(len(simulators)) + BAR * (number - (len(steps_drawn) - 1) / 2)
        bars = axes.bar(places, own["value"], BAR, color=COLOURS[steps], edgecolor="black", linewidth=0.5)
        axes.bar_label(bars, fmt=short, size=6, padding=2)
        ends = np.abs(own[["value_low", "value_high"]].sub(own["value"], axis=0)).T
        axes.errorbar(places, own["value"], yerr=ends, fmt="none", ecolor="black", elinewidth=0.7, capsize=1.5)
    names = [as_label(simulator.split()[-1]) for simulator in simulators]
    axes.set_xticks(range(len(simulators)), names, size=7)
