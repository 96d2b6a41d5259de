"""Rows as lines of a terminal: no line is wider than it, and no name goes on in the next line."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest

from rlscope.analysis.rows import Record, Value
from rlscope.model import NO_OPERATION
from rlscope.report.screen import Screen, cell_len, packed, padded
from rlscope.text.numbers import count, digits, in_percent

#: A table of more is not read; a name such as `step 17` makes millions.
ROWS_SHOWN = 100
#: A name is cut to no less.
LEAST_CELLS = 6


def where_text(stage: Value, operation: Value) -> str:
    """Return a stage and an operation in it as one name, which is short where they are the same."""
    return " / ".join(str(name) for name in dict.fromkeys((stage, operation)) if name != NO_OPERATION) or NO_OPERATION


@dataclass
class _Column:
    """A column while its width is being found: the cells are texts, the head is the column's name in lines."""

    head: list[str]
    cells: list[str]
    is_number: bool
    width: int


def table_lines(title: str, rows: Sequence[Record], screen: Screen) -> list[str]:
    """Return a title and a table with the columns of the first row.

    Numbers stand to the right. Names of columns go on in a second line behind an underscore, or a space, if that makes
    the table narrower, and long names in cells lose their middle if it is too wide. If that does not suffice, each row
    is written as lines of one column each.
    """
    columns = [_column(name, rows, screen) for name in (rows[0] if rows else ())]
    if _width(columns) > screen.width:
        for column in columns:
            widest = max(map(cell_len, column.cells), default=0)
            pieces = re.split("(?<=_)(?=..)|(?<= )", column.head[0])  # not before a unit
            width = max(widest, *(cell_len(piece.rstrip()) for piece in pieces))
            column.head = [line.rstrip() for line in packed(pieces, width)]
            column.width = max(widest, *map(cell_len, column.head))
    texts = [column for column in columns if not column.is_number]
    while (over := _width(columns) - screen.width) > 0 and texts:
        widest_column = max(texts, key=lambda column: column.width)
        others = [column.width for column in texts if column is not widest_column]
        least = max(LEAST_CELLS, *map(cell_len, widest_column.head))
        if widest_column.width <= least:
            break
        to_next = widest_column.width - max([least, *others])
        widest_column.width -= max(1, min(over, to_next))
    if _width(columns) > screen.width:
        return [screen.cut(screen.shown(title), screen.width), *_row_by_row(rows, screen)]
    height = max((len(column.head) for column in columns), default=0)
    heads = [[""] * (height - len(column.head)) + column.head for column in columns]
    lines = [[head[line] for head in heads] for line in range(height)]
    lines += [[screen.cut(column.cells[row], column.width) for column in columns] for row in range(len(rows))]
    shown = [
        "  ".join(padded(cell, column.width, column.is_number) for cell, column in zip(line, columns, strict=True))
        for line in lines
    ]
    return [screen.cut(screen.shown(title), screen.width), *(f"  {line}".rstrip() for line in shown)]


def _width(columns: Sequence[_Column]) -> int:
    return sum(column.width + 2 for column in columns)


def _column(name: str, rows: Sequence[Record], screen: Screen) -> _Column:
    is_number = all(isinstance(row[name], (int, float, type(None))) for row in rows)
    is_number = is_number and not any(isinstance(row[name], bool) for row in rows)
    cells = [screen.shown(_cell(name, row[name])) for row in rows]
    return _Column([screen.shown(name)], cells, is_number, max(map(cell_len, [name, *cells])))


def _row_by_row(rows: Sequence[Record], screen: Screen) -> list[str]:
    lines: list[str] = []
    for row in rows:
        lines += [""] if lines else []
        lines += [
            screen.cut(f"  {name}  {screen.shown(_cell(name, value))}", screen.width) for name, value in row.items()
        ]
    return lines


def most(rows: Sequence[Record], column: str) -> tuple[Sequence[Record], str]:
    """Return the rows with the largest values of a column, in their order, and what to say of how many others."""
    rest = len(rows) - ROWS_SHOWN
    if rest <= 0:
        return rows, ""
    places = sorted(nlargest(ROWS_SHOWN, range(len(rows)), key=lambda place: number(rows[place][column])))
    return [rows[place] for place in places], f"The {ROWS_SHOWN} rows with most {column}, {rest:,} more"


def number(value: Value) -> float:
    """Return a cell of a column of numbers; 0 where it is not known."""
    return value if isinstance(value, (int, float)) else 0.0


def _cell(name: str, value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return (in_percent if name.endswith("percent") else digits)(value) or "-"
    return count(value) if isinstance(value, int) and name in ("count", "events", "bytes") else str(value)
