"""This file draws what is reported of kernels of known length, beside what the device does, over their gaps."""

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rlscope.plots import style
from rlscope.text.numbers import duration

#: Columns of the table, with colour, marker, line and label.
LINES = {
    "reported_percent": ("tab:gray", "s", "-", "Reported"),
    "busy_percent": ("tab:blue", "o", "-", "Truly busy"),
    "achieved_occupancy": ("tab:green", "^", ":", "Occupancy while busy"),
    "sm_efficiency": ("tab:orange", "D", "-", "SM efficiency"),
}
#: What is drawn for less, so that nothing at all has a place on a logarithmic axis.
LOWEST_PERCENT = 1e-3
PANEL_INCHES, HEIGHT_INCHES = 1.55, 2.6
WIDE_PANEL = 0.35


def reported_utilization_figure(table: pd.DataFrame) -> Figure:
    """Draw a panel for each length of a kernel, the wide kernel's last; gaps and percentages on logarithmic axes.

    Args:
        table: `kernel_us` (NaN for the wide kernel), `gap_us`, and in percent the keys of LINES; NaN is not drawn.
    """
    panels = list(table.sort_values("gap_us").groupby("kernel_us", dropna=False))
    widths = [WIDE_PANEL if pd.isna(kernel_us) else 1.0 for kernel_us, _ in panels]
    with style.paper():
        figure = Figure(figsize=(PANEL_INCHES * max(sum(widths), 2), HEIGHT_INCHES), dpi=200)
        all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False, width_ratios=widths)[0]
        for axes, (kernel_us, rows) in zip(all_axes, panels, strict=True):
            draw_lines(axes, rows)
            is_wide = pd.isna(kernel_us)
            axes.set_title("Wide" if is_wide else f"{duration_text(kernel_us)} kernels", fontsize=8)
        label_axes(figure, list(all_axes))
    return figure


def draw_lines(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw one panel: each quantity over the gap; 0 has a place left of the smallest one."""
    gaps_us = list(rows["gap_us"])
    axes.set_xscale("symlog", linthresh=min((gap for gap in gaps_us if gap > 0), default=1.0))
    axes.set_axisbelow(True)
    axes.grid(color="lightgrey", linewidth=0.5)
    for column, (colour, marker, line, label) in LINES.items():
        percent = rows[column].clip(lower=LOWEST_PERCENT)
        axes.plot(gaps_us, percent, line, color=colour, marker=marker, markersize=3, linewidth=1, label=label)
    axes.set_xticks(gaps_us, [duration_text(gap) for gap in gaps_us], rotation=90, fontsize=6.5)
    axes.minorticks_off()


def label_axes(figure: Figure, panels: list[Axes]) -> None:
    """Say what the axes are, and which line is which."""
    first = panels[0]
    first.set_yscale("log", base=10)
    first.set_ylim(LOWEST_PERCENT / 1.6, 160)
    ticks = [LOWEST_PERCENT * 10**power for power in range(6)]
    first.set_yticks(ticks, [f"≤{ticks[0]:g}", *(f"{tick:g}" for tick in ticks[1:])])
    first.set_ylabel("Percent")
    first.yaxis.set_minor_locator(mpl.ticker.NullLocator())
    figure.supxlabel("Gap between two kernels", fontsize=8, y=-0.12)
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 0.97), ncols=len(labels), fontsize=7)


def duration_text(us: float) -> str:
    """Return the length of a kernel or a gap, of which there may be none."""
    return duration(us / 1e6) if us else "none"
