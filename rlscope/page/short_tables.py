"""Shortens the tables of an analysis: small operations become one, and long tables keep their largest rows."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields
from typing import Any

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import Rows, RowT, sums
from rlscope.page.grid import OTHERS

#: Operations that a page names, times the processes that it has.
MOST_OPERATIONS = 2048
FEWEST_OPERATIONS = 16
MOST_ROWS = 2048


def short_analysis(analysis: Analysis, shrink: int) -> tuple[Analysis, list[str]]:
    """Return the analysis with tables that a page can hold, and sentences that say what was left out.

    Args:
        analysis: Of the whole trace.
        shrink: Tables are 2 ** shrink times shorter than they may be at most.
    """
    said = []
    names = operations(analysis)
    most = max((MOST_OPERATIONS // max(len(analysis.processes), 1)) >> shrink, FEWEST_OPERATIONS)
    changed: dict[str, Any] = {}
    if len(names) > most:
        shown = frozenset(names[:most])
        changed = {"breakdown": folded(analysis.breakdown, shown), "transitions": folded(analysis.transitions, shown)}
        said.append(
            f"The tables name the {most:,} operations with most time, of {len(names):,}. The others are summed by "
            f"stage and layer, and are called {OTHERS}."
        )
    cut = []
    for table in Analysis.tables():
        rows = getattr(analysis, table.name)
        if table.largest and len(rows) > MOST_ROWS >> shrink:
            changed[table.name] = largest(rows, table.largest, MOST_ROWS >> shrink)
            cut.append(f"{table.title} (of {len(rows):,})")
    if cut:
        said.append(f"These tables show their {MOST_ROWS >> shrink:,} largest rows: {', '.join(cut)}.")
    return analysis.replaced(**changed), said


def operations(analysis: Analysis) -> Sequence[str]:
    """Return the names of all operations, those with most time first."""
    found = sums((row.operation, row.seconds) for row in analysis.breakdown)
    return sorted(found, key=lambda name: (-found[name], name))


def folded(rows: Rows[RowT], shown: AbstractSet[str]) -> Rows[RowT]:
    """Return the rows with the operations that are not shown as one; words tell rows apart, numbers are summed."""
    columns = [field.name for field in fields(rows.row_class)]
    words = [field.name for field in fields(rows.row_class) if field.type == "str"]
    groups: dict[tuple[str, ...], list[RowT]] = {}
    for row in rows:
        key = tuple(
            OTHERS if name == "operation" and getattr(row, name) not in shown else getattr(row, name) for name in words
        )
        groups.setdefault(key, []).append(row)
    found = []
    for key, group in groups.items():
        if len(group) == 1 and group[0].operation in shown:  # type: ignore[attr-defined]
            found.append(group[0])
            continue
        values = dict(zip(words, key, strict=True))
        found.append(
            rows.row_class(
                **{
                    name: values[name] if name in values else total([getattr(row, name) for row in group])
                    for name in columns
                }
            )
        )
    return Rows(rows.row_class, found)


def total(values: Sequence[float | None]) -> float | None:
    """Return the sum; None if none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def largest(rows: Rows[RowT], column: str, most: int) -> Rows[RowT]:
    """Return so many of the rows with the largest values in the column, in the order that they had."""
    order = sorted(range(len(rows)), key=lambda place: -(getattr(rows[place], column) or 0))
    return Rows(rows.row_class, (rows[place] for place in sorted(order[:most])))
