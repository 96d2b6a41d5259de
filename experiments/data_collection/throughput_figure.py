"""This file draws throughput over the number of environments, a line per way to collect, and the device's limits."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from experiments.verdicts.published import Line
from rlscope.plots import style
from rlscope.plots.bars import BESIDE, as_label
from rlscope.text.numbers import prefixed

#: Of the implementations, alike in all figures; other families of lines get the colours that are left.
FAMILY_COLOURS = {
    "Gymnasium": "black",
    "C++ threads": "tab:gray",
    "PyTorch": "tab:orange",
    "PyTorch compiled": "tab:brown",
    "CUDA graph": "tab:red",
    "XLA": "tab:blue",
    "CUDA": "tab:green",
}
OTHER_COLOURS = ("tab:purple", "tab:pink", "tab:olive", "tab:cyan", "tab:orange", "tab:green", "tab:red", "tab:brown")
MARKERS = "osD^vP*X"
#: The lightest line of a family keeps so much of its colour.
LIGHTEST = 0.35
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
            draw_line(axes, str(series), rows, *look)
        draw_limits(axes, limits)
        for line in published:
            line.draw(axes)
        axes.set_xlabel("Parallel environments")
        axes.set_ylabel(label)
        axes.legend(
            **BESIDE,
            fontsize=7,
            title="Series: plateau",
            title_fontsize=7,
            alignment="left",
        )
    return figure


def looks(table: pd.DataFrame) -> list[tuple[tuple[float, ...], str]]:
    """Return a colour and a marker for each series: the last line of a family has its full colour, the first the
    lightest.
    """
    order = table.drop_duplicates("series")
    families = list(dict.fromkeys(order["family"]))
    others = iter(OTHER_COLOURS * len(families))
    colours = {family: FAMILY_COLOURS.get(family) or next(others) for family in families}
    found = []
    for row in order.to_dict("records"):
        members = list(order.loc[order["family"] == row["family"], "series"])
        place = members.index(row["series"])
        strength = 1.0 if len(members) == 1 else LIGHTEST + (1 - LIGHTEST) * place / (len(members) - 1)
        colour = tuple(1 - strength * (1 - part) for part in to_rgb(colours[row["family"]]))
        found.append((colour, MARKERS[place % len(MARKERS)]))
    return found


def draw_line(axes: Axes, series: str, rows: pd.DataFrame, colour: tuple[float, ...], marker: str) -> None:
    """Draw one series with its interval and its plateau."""
    best = rows["best_steps_per_s"].iloc[0]
    name = f"{as_label(series)}: {prefixed(best)}"
    axes.plot(
        rows["environments"], rows["steps_per_s"], color=colour, marker=marker, markersize=2.5, linewidth=1, label=name
    )
    axes.fill_between(
        rows["environments"], rows["steps_per_s_low"], rows["steps_per_s_high"], color=colour, alpha=0.25, linewidth=0
    )
    enough = rows[rows["environments"] == rows["plateau_environments"]]
    axes.plot(enough["environments"], enough["steps_per_s"], color=colour, marker=marker, markersize=6, linewidth=0)


def draw_limits(axes: Axes, limits: Mapping[str, float]) -> None:
    """Draw what the device cannot exceed: dashed lines, with their names at the left end."""
    for name, steps_per_s in limits.items():
        axes.axhline(steps_per_s, color="dimgrey", linestyle="--", linewidth=0.8)
        axes.annotate(
            f"limit, {as_label(name)}: {prefixed(steps_per_s)}",
            (0, steps_per_s),
            (3, 1.5),
            xycoords=mpl.transforms.blended_transform_factory(axes.transAxes, axes.transData),
            textcoords="offset points",
            size=5.5,
            color="dimgrey",
        )
