"""This file computes the numbers that figures show, and writes them as CSV or Markdown."""

from pathlib import Path

import pandas as pd

from rlscope.plots.folding import CORRECTED, SECONDS, drawn_times, summed
from rlscope.plots.style import CATEGORY_ORDER, RESOURCE_ORDER, STAGE_ORDER
from rlscope.text.numbers import digits

#: What seconds are, written along the axes.
TRAINING_TIME = "Training time (sec)"
RECORDED_TIME = "Recorded time (sec)"
#: What is drawn, and beside it the same of the times that were recorded.
DRAWN = ["percent", "seconds", "training_s"]
UNCORRECTED = [f"uncorrected_{name}" for name in DRAWN]
BREAKDOWN_COLUMNS = ["workload", "stage", "category", "resource", *DRAWN, *UNCORRECTED, CORRECTED]
TRANSITION_COLUMNS = ["workload", "stage", "category", "count", "per_iteration", "per_timestep"]
#: With these a spreadsheet begins to calculate.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def breakdown_table(
    workload: str, rows: pd.DataFrame, training_s: float, uncorrected_training_s: float | None = None
) -> pd.DataFrame:
    """Return one workload's part of the table behind a breakdown figure.

    Args:
        workload: the name of the group of bars.
        rows: stage, category, resource, seconds of the recorded part, as `drawn_times` takes or makes them.
        training_s: seconds of the whole training, over which the recorded shares are spread.
        uncorrected_training_s: the same by the times that were recorded, where it is not the same.

    Returns:
        workload, stage, category, resource, percent (of the recorded seconds), seconds (that share of training_s) and
        training_s; the same with `uncorrected_` in front; corrected, whether anything was subtracted. For 3 s of Python
        and 1 s of simulator recorded of a training of 100 s, percent is 75 and 25, seconds is 75 and 25.
    """
    table = summed(drawn_times(rows)).assign(workload=workload)
    lengths_s = (training_s, training_s if uncorrected_training_s is None else uncorrected_training_s)
    for columns, seconds, length_s in zip((DRAWN, UNCORRECTED), SECONDS, lengths_s, strict=True):
        recorded_s = table[seconds].sum()
        share = table[seconds] / recorded_s if recorded_s > 0 else table[seconds]
        table = table.assign(**dict(zip(columns, (100 * share, share * length_s, length_s), strict=True)))
    return in_stack_order(table)[BREAKDOWN_COLUMNS]


def transitions_table(workload: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return one workload's part of the table behind a transitions figure: stage, category and counts of its
    transitions.
    """
    return in_stack_order(rows.assign(workload=workload))[TRANSITION_COLUMNS]


def in_stack_order(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in the order in which bars stand side by side and pieces are stacked in them, bottom first."""
    orders = {"stage": STAGE_ORDER, "resource": RESOURCE_ORDER, "category": CATEGORY_ORDER}
    keys = [column for column in orders if column in table.columns]
    return table.sort_values(keys, key=lambda values: values.map(orders[values.name].index)).reset_index(drop=True)


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write the table with six significant digits, which is more than any measurement here has.

    People open it in a spreadsheet, which would take a name such as `=cmd|...` for a formula: it gets a `'` in front.
    """
    shown = table.copy(deep=False)
    for column in table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]:
        shown[column] = [_as_text(value) for value in table[column]]
    shown.to_csv(path, index=False, float_format="%.6g", errors="backslashreplace")


def _as_text(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell


def markdown(table: pd.DataFrame) -> str:
    """Return the table as a Markdown table for people."""
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    lines += ["| " + " | ".join(cell_text(value) for value in row) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def cell_text(value: object) -> str:
    """Return a value as a reader wants it, nothing where it is unknown."""
    if value is None or value is pd.NA:
        return ""
    if isinstance(value, float):
        return digits(value)
    return str(value).replace("\n", ", ").replace("|", "\\|")
