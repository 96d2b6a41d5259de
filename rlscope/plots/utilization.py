"""This file draws what the machine reported over time: utilisation of devices, busy cores, memory."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rlscope.analysis.utilization import PROCESSES
from rlscope.plots import style
from rlscope.plots.bars import BESIDE, as_label

STRIP_INCHES = 1.05
PROCESSES_LABEL = "Processes"
PROCESSES_COLOUR = "black"
DEVICE_COLOURS = "tab10"


def utilization_figure(table: pd.DataFrame, labels: Mapping[str, str] | None = None) -> Figure:
    """Draw one strip each for devices, processor cores and memory, over the same time; none without samples.

    Args:
        table: rows as from `rlscope.analysis.utilization.binned_utilization`.
        labels: the names of devices, where they are not their uuids.
    """
    devices = [source for source in dict.fromkeys(table["source"]) if source != PROCESSES]
    colours = dict(zip(devices, mpl.color_sequences[DEVICE_COLOURS] * len(devices), strict=False))
    colours[PROCESSES] = PROCESSES_COLOUR
    percent = table.assign(utilization=100 * table["utilization"], memory_gb=table["memory_bytes"] / 1e9)
    is_process = table["source"] == PROCESSES
    strips = [
        (percent[~is_process], "utilization", "GPU (%)", 105.0),
        (table[is_process], "utilization", "CPU (cores)", None),
        (percent[percent["memory_gb"].notna()], "memory_gb", "Memory (GB)", None),
    ]
    shown = [strip for strip in strips if len(strip[0])]
    names = {source: as_label((labels or {}).get(source, source)) for source in devices}
    names[PROCESSES] = PROCESSES_LABEL
    with style.paper():
        figure = Figure(figsize=(style.COLUMN_INCHES, STRIP_INCHES * len(shown)), dpi=200)
        strip_axes = figure.subplots(len(shown), sharex=True, squeeze=False)[:, 0]
        for axes, (rows, value, label, top) in zip(strip_axes, shown, strict=True):
            draw_strip(axes, rows, value, colours)
            axes.set_ylabel(label)
            axes.set_ylim(0, top or 1.08 * max(rows[value].max(), 1e-12))
        strip_axes[-1].set_xlabel("Time since recording began (s)")
        strip_axes[-1].set_xlim(0, table["seconds"].max() + table["seconds"].min())
        handles = [
            Line2D([], [], color=colours[source], label=names[source])
            for source in [*devices, *([PROCESSES] if is_process.any() else [])]
        ]
        draw_keys(figure, strip_axes[0], handles, [str(handle.get_label()) for handle in handles])
        figure.align_ylabels()
    return figure


def draw_keys(figure: Figure, axes: Axes, handles: Sequence[Line2D], labels: Sequence[str]) -> None:
    """Draw the key of the lines beside the uppermost strip."""
    figure.legend(
        handles=handles,
        labels=labels,
        **BESIDE,
        bbox_transform=axes.transAxes,
    )


def draw_strip(axes: Axes, rows: pd.DataFrame, value: str, colours: Mapping[str, object]) -> None:
    """Draw one line per source."""
    for source, samples in rows.groupby("source", sort=False):
        axes.plot(samples["seconds"], samples[value], color=colours[str(source)], linewidth=0.8, drawstyle="steps-mid")
