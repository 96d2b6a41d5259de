"""Prints pandas tables so that they are readable in a terminal of 80 columns."""

import pandas as pd
from rich import box
from rich.markup import escape
from rich.table import Table

from rlscope.analysis.records import records
from rlscope.text import printable

#: A table of more is not read; a name such as `step 17` makes millions.
ROWS_SHOWN = 100


def rich_table(title: str, table: pd.DataFrame) -> Table:
    """The rows of `table`; numbers to the right, long names folded."""
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in table.columns:
        is_number = pd.api.types.is_numeric_dtype(table[name]) and not pd.api.types.is_bool_dtype(table[name])
        shown.add_column(str(name), justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
    for row in records(table):
        shown.add_row(*(escape(printable(_cell(name, value))) for name, value in row.items()))
    return shown


def most(table: pd.DataFrame, column: str) -> tuple[pd.DataFrame, str]:
    """The rows with the largest values of a column, in their order, and what to say of how many others there are."""
    rest = len(table) - ROWS_SHOWN
    if rest <= 0:
        return table, ""
    kept = table[column].nlargest(ROWS_SHOWN).index.sort_values()
    return table.loc[kept], f"The {ROWS_SHOWN} rows with most {column}, {rest:,} more"


def seconds_text(value: float) -> str:
    """Three digits after the point, or three that are not zero."""
    return f"{value:.3f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3g}"


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}" if name.endswith("percent") else seconds_text(value)
    return f"{value:,}" if isinstance(value, int) and name in ("count", "events", "bytes") else str(value)
