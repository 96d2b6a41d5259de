"""Prints rows so that they are readable in a terminal of 80 columns."""

from collections.abc import Sequence
from heapq import nlargest

from rich import box
from rich.markup import escape
from rich.table import Table

from rlscope.analysis.rows import Record, Value
from rlscope.text import printable

#: A table of more is not read; a name such as `step 17` makes millions.
ROWS_SHOWN = 100


def rich_table(title: str, rows: Sequence[Record]) -> Table:
    """Makes a table with the columns of the first row; numbers stand to the right, long names are folded."""
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in rows[0] if rows else ():
        is_number = all(isinstance(row[name], (int, float, type(None))) for row in rows)
        is_number = is_number and not any(isinstance(row[name], bool) for row in rows)
        shown.add_column(name, justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
    for row in rows:
        shown.add_row(*(escape(printable(_cell(name, value))) for name, value in row.items()))
    return shown


def most(rows: Sequence[Record], column: str) -> tuple[Sequence[Record], str]:
    """Returns the rows with the largest values of a column, in their order, and what to say of how many others."""
    rest = len(rows) - ROWS_SHOWN
    if rest <= 0:
        return rows, ""
    places = sorted(nlargest(ROWS_SHOWN, range(len(rows)), key=lambda place: number(rows[place][column])))
    return [rows[place] for place in places], f"The {ROWS_SHOWN} rows with most {column}, {rest:,} more"


def number(value: Value) -> float:
    """Returns a cell of a column of numbers; 0 where it is not known."""
    return value if isinstance(value, (int, float)) else 0.0


def seconds_text(value: float) -> str:
    """Return three digits after the point, or three that are not zero."""
    return f"{value:.3f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3g}"


def _cell(name: str, value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}" if name.endswith("percent") else seconds_text(value)
    return f"{value:,}" if isinstance(value, int) and name in ("count", "events", "bytes") else str(value)
