"""This file draws hardware counters: one panel per counter, one bar per stage and per operation that launched work."""

import re

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from rlscope.analysis.counters.runs import counter_label
from rlscope.plots import style
from rlscope.plots.bars import as_label

BAR_INCHES = 0.16
PANEL_INCHES = 1.6
STAGE_COLOUR, OPERATION_COLOUR = "tab:blue", "#b3cde3"
MOST_BARS = 24
PANELS_ACROSS = 3
#: Of a label below a panel.
LINE_CHARACTERS = 18
KEYS = ["process", "device", "stage", "operation"]


def counter_bars(counters: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return what has a bar, and how many stages and operations have none because there are too many.

    Stages come first, so that no operation is drawn without its own; of each kind those with most busy time are kept.

    Args:
        counters: the table of an analysis.

    Returns:
        One row per bar, in the order of the table, and the number left out.
    """
    groups = counters[counters["stage"] != ""].drop_duplicates(KEYS)
    ranked = groups.assign(is_operation=groups["operation"] != "").sort_values(
        ["is_operation", "busy_s"], ascending=[True, False], kind="stable"
    )
    return groups[KEYS].loc[ranked.index[:MOST_BARS].sort_values()], max(len(groups) - MOST_BARS, 0)


def counters_figure(counters: pd.DataFrame) -> Figure:
    """Draw the stages, each with its operations, as `counter_bars` chooses them.

    Args:
        counters: the table of an analysis, with at least one row of a stage.
    """
    of_stages = counters[counters["stage"] != ""]
    drawn, _ = counter_bars(counters)
    metrics = of_stages.drop_duplicates("metric")[["metric", "unit"]].to_dict("records")
    names = [
        _name(row, of_stages["process"].nunique() > 1, of_stages["device"].nunique() > 1)
        for row in drawn.to_dict("records")
    ]
    places = range(len(drawn))
    colours = [STAGE_COLOUR if operation == "" else OPERATION_COLOUR for operation in drawn["operation"]]
    down = -(-len(metrics) // PANELS_ACROSS)
    with style.paper(), style.unknown_glyphs():
        size = (1.5 + PANEL_INCHES * PANELS_ACROSS, down * (0.6 + BAR_INCHES * max(len(drawn), 4)))
        figure = Figure(figsize=size, dpi=200)
        panels = figure.subplots(down, PANELS_ACROSS, sharey=True, squeeze=False).ravel()
        for axes in panels[len(metrics) :]:
            axes.set_axis_off()
        for axes, metric in zip(panels, metrics, strict=False):
            rows = drawn.merge(of_stages[of_stages["metric"] == metric["metric"]], on=KEYS, how="left")
            axes.barh(places, rows["while_working"].fillna(rows["total"]).fillna(0), color=colours, edgecolor="black")
            axes.set_xlabel(_in_lines(as_label(counter_label(metric["metric"], metric["unit"]))))
            axes.xaxis.set_major_formatter(EngFormatter())
        panels[0].set_yticks(places, names)
        panels[0].invert_yaxis()
        figure.tight_layout()
    return figure


def _in_lines(label: str) -> str:
    """Return a label no wider than its panel; names of counters have no spaces, and break behind their parts."""
    lines = [""]
    for part in re.split(r"(?<=[_. ])", label):
        if lines[-1] and len(lines[-1] + part) > LINE_CHARACTERS:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)


def _name(row: dict[str, object], has_processes: bool, has_devices: bool) -> str:
    """Return a bar's name: the stage, or the operation in it, and where it ran if that may be in doubt."""
    where = [f"GPU {row['device']}"] if has_devices else []
    where += [str(row["process"])] if has_processes else []
    stage = style.STAGE_LABELS[str(row["stage"])]
    name = f"{stage}: {row['operation']}" if row["operation"] else stage
    return as_label(", ".join([name, *where]))
