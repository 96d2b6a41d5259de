"""This file draws when samples of an iteration are complete, and what overlapping generation and training brings."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.llm_rl.measurements import tail_start
from rlscope.plots import style

DONE_COLOUR, RUNNING_COLOUR, TAIL_COLOUR = "tab:blue", "tab:orange", "#eeeeee"
PANEL_INCHES, HEIGHT_INCHES = 2.1, 2.3
OVERLAP_INCHES = 3.4


def tail_figure(samples: pd.DataFrame, steps: pd.DataFrame, labels: Mapping[str, str]) -> Figure:
    """Draw a panel for each workload: samples complete, and samples that the engine generates, over an iteration.

    Args:
        samples: `workload`, `done_s` since the iteration began, `discarded`.
        steps: `workload`, `done_s`, `running`.
        labels: titles of the panels, in their order.
    """
    with style.paper():
        figure = Figure(figsize=(PANEL_INCHES * len(labels), HEIGHT_INCHES), dpi=200)
        panels = figure.subplots(1, len(labels), sharey=True, squeeze=False)[0]
        for axes, (workload, label) in zip(panels, labels.items(), strict=True):
            draw_tail(axes, samples[samples["workload"] == workload], steps[steps["workload"] == workload])
            axes.set_title(" ".join(label.split()), fontsize=8)
            axes.set_xlabel("Milliseconds of an iteration")
        panels[0].set_ylabel("Percent")
        shown = {name: line for axes in panels for line, name in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(
            shown.values(), shown.keys(), loc="lower center", bbox_to_anchor=(0.5, 0.97), ncols=len(shown), fontsize=7
        )
    return figure


def draw_tail(axes: Axes, samples: pd.DataFrame, steps: pd.DataFrame) -> None:
    """Draw one panel; the tail is shaded. What was complete before the iteration began is so at 0."""
    samples = samples.assign(done_ms=(1000 * samples["done_s"]).clip(lower=0)).sort_values("done_ms")
    done_ms = samples["done_ms"].to_numpy()
    percent = 100 * np.arange(1, len(done_ms) + 1) / len(done_ms)
    axes.axvspan(tail_start(list(done_ms)), done_ms[-1], color=TAIL_COLOUR, label="Tail", zorder=0)
    axes.step([0, *done_ms], [0, *percent], where="post", color=DONE_COLOUR, linewidth=1, label="Complete")
    running = steps["running"].to_numpy()
    axes.step(
        1000 * steps["done_s"], 100 * running / max(1, running.max(initial=0)), where="pre", color=RUNNING_COLOUR,
        linewidth=1, label="Generated at once, of the most",
    )  # fmt: skip
    stale = samples[samples["discarded"].astype(bool)]
    if len(stale):
        places = np.searchsorted(done_ms, stale["done_ms"].to_numpy(), side="right") - 1
        axes.plot(
            stale["done_ms"], percent[places], "x", color="tab:red", markersize=4, label="Discarded", clip_on=False
        )
    axes.set_xlim(left=0)
    axes.set_ylim(0, 105)
    axes.set_axisbelow(True)
    axes.grid(color="lightgrey", linewidth=0.5)


def overlap_figure(table: pd.DataFrame) -> Figure:
    """Draw the gain of overlap with its interval over the ratio of generation to training, and the bound.

    Args:
        table: `ratio`, `bound`, `gain`, `gain_low`, `gain_high`, of each pair of runs.
    """
    rows = table.sort_values("ratio")
    with style.paper():
        figure = Figure(figsize=(OVERLAP_INCHES, HEIGHT_INCHES), dpi=200)
        axes = figure.subplots()
        axes.set_xscale("log", base=2)
        axes.set_axisbelow(True)
        axes.grid(color="lightgrey", linewidth=0.5)
        ratios = np.geomspace(rows["ratio"].min() / 1.5, rows["ratio"].max() * 1.5, 200)
        ideal = (1 + ratios) / np.maximum(1, ratios)
        axes.plot(ratios, ideal, color="dimgrey", linestyle="--", linewidth=0.9, label="Bound without weight sync")
        axes.plot(rows["ratio"], rows["bound"], "_", color="black", markersize=9, label="Bound of each run")
        ends = np.nan_to_num([rows["gain"] - rows["gain_low"], rows["gain_high"] - rows["gain"]])
        axes.errorbar(
            rows["ratio"], rows["gain"], ends, fmt="o", color=DONE_COLOUR, capsize=2, markersize=4, linewidth=1,
            label="Measured",
        )  # fmt: skip
        least, most = rows[["gain", "gain_low"]].min(axis=None), rows[["gain", "gain_high"]].max(axis=None)
        margin = 0.05 * (most - least)
        axes.set_ylim(min(0.9, least - margin), max(2.1, most + margin))
        ticks = [2.0**power for power in range(-6, 7) if ratios[0] <= 2.0**power <= ratios[-1]]
        axes.set_xticks(ticks, [f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("Generation over training")
        axes.set_ylabel("Times as fast")
        axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0)
    return figure
