"""This file draws throughput over the number of environments, a line per way to collect, and the device's limits."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from experiments.verdicts.published import Line
from rlscope.plots import style
from rlscope.plots.bars import BESIDE, as_label
from rlscope.text.numbers import prefixed

#: Of the implementations, alike in all figures; other families of lines get the colours that are left. All are told
#: apart by who is colour-blind (Okabe and Ito's, and a violet).
FAMILY_COLOURS = {
    "Gymnasium": "black",
    "C++ threads": "#7f7f7f",
    "PyTorch": "#e69f00",
    "PyTorch compiled": "#8c510a",
    "CUDA graph": "#d55e00",
    "XLA": "#0072b2",
    "CUDA": "#009e73",
}
#: Of the kernel's variants, by a word in the names of their series.
VARIANT_COLOURS = {"accurate": "#009e73", "approximate": "#cc79a7", "matrix units": "#5d3a9b"}
OTHER_COLOURS = ("#5d3a9b", "#cc79a7", "#8c510a", "#56b4e9", "#e69f00", "#009e73", "#d55e00", "#7f7f7f")
#: Of lines that share a colour: the last of them has the last style.
STYLES = (":", "-.", "--", "-")
MARKERS = "osD^vP*X"
#: The lightest line of a family keeps so much of its colour.
LIGHTEST = 0.45
#: Where the axis ends, in heights of the highest limit.
ROOM_ABOVE = 8
PANEL_INCHES = 3.6


def throughput_figure(
    table: pd.DataFrame, limits: Mapping[str, float], label: str, published: Sequence[Line] = ()
) -> Figure:
    """Draw a line for each series, both scales logarithmic, with a larger marker where its plateau begins.

    Args:
        table: `series` (text of the legend), `family` (what shares a colour), `environments`, `steps_per_s`,
            `steps_per_s_low`, `steps_per_s_high`, `best_steps_per_s` and `plateau_environments` (of the whole series);
            series in the order of the legend.
        limits: steps per second that the device cannot exceed, by what limits them.
        label: what the steps are, along the axis.
        published: values of the published figure.
    """
    with style.paper():
        figure = Figure(figsize=(1.25 * style.COLUMN_INCHES, PANEL_INCHES), dpi=200)
        axes = figure.subplots()
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=10)
        axes.set_axisbelow(True)
        axes.grid(color="lightgrey", linewidth=0.5)
        for look, (series, rows) in zip(looks(table), table.groupby("series", sort=False), strict=True):
            draw_line(axes, str(series), rows, look)
        draw_limits(axes, limits)
        for line in published:
            line.draw(axes)
        axes.set_xlabel("Parallel environments")
        axes.set_ylabel(label)
        axes.legend(
            **BESIDE,
            fontsize=7,
            handlelength=3.2,
            title="Series: plateau",
            title_fontsize=7,
            alignment="left",
        )
    return figure


def looks(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return colour, marker and style of each series: of those that share a colour the last has the full colour and a
    solid line, the first the lightest.
    """
    order = table.drop_duplicates("series")
    others = iter(OTHER_COLOURS * len(order))
    colours: dict[str, str] = {}
    for row in order.to_dict("records"):
        family = row["family"]
        variant = next((word for word in VARIANT_COLOURS if f", {word}" in row["series"]), "")
        if family not in colours:
            colours[family] = FAMILY_COLOURS.get(family) or next(others)
        colours[row["series"]] = VARIANT_COLOURS[variant] if variant else colours[family]
    found = []
    for series in order["series"]:
        members = [other for other in order["series"] if colours[other] == colours[series]]
        number = members.index(series)
        strength = 1.0 if len(members) == 1 else LIGHTEST + (1 - LIGHTEST) * number / (len(members) - 1)
        found.append(
            {
                "color": tuple(1 - strength * (1 - part) for part in to_rgb(colours[series])),
                "marker": MARKERS[number % len(MARKERS)],
                "linestyle": STYLES[max(-len(STYLES), number - len(members))],
            }
        )
    return found


def draw_line(axes: Axes, series: str, rows: pd.DataFrame, look: Mapping[str, Any]) -> None:
    """Draw one series with its interval and its plateau."""
    best = rows["best_steps_per_s"].iloc[0]
    name = f"{as_label(series)}: {prefixed(best)}"
    axes.plot(rows["environments"], rows["steps_per_s"], **look, markersize=2.5, linewidth=1, label=name)
    ends = rows["steps_per_s_low"], rows["steps_per_s_high"]
    axes.fill_between(rows["environments"], *ends, color=look["color"], alpha=0.25, linewidth=0)
    enough = rows[rows["environments"] == rows["plateau_environments"]]
    plateau = {"color": look["color"], "marker": look["marker"], "markersize": 6, "linewidth": 0}
    axes.plot(enough["environments"], enough["steps_per_s"], **plateau)


def draw_limits(axes: Axes, limits: Mapping[str, float]) -> None:
    """Draw what the device cannot exceed: dashed lines, with their names at the left end, below the frame."""
    if limits:
        axes.set_ylim(top=max(axes.get_ylim()[1], ROOM_ABOVE * max(limits.values())))
    for name, steps_per_s in limits.items():
        axes.axhline(steps_per_s, color="dimgrey", linestyle="--", linewidth=0.8)
        axes.annotate(
            f"limit, {as_label(name)}: {prefixed(steps_per_s)}",
            (0, steps_per_s),
            (3, 1.5),
            xycoords=mpl.transforms.blended_transform_factory(axes.transAxes, axes.transData),
            textcoords="offset points",
            size=6.5,
            color="dimgrey",
        )
