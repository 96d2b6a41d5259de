"""Print what `rlscope compare` found: the verdict, the parts, and what a reader must know before believing it."""

import click

from rlscope.analysis.rows import Record
from rlscope.compare.comparable import cautions
from rlscope.compare.comparison import Comparison, Row
from rlscope.compare.sides import Side
from rlscope.compare.summary import stage_records, summary
from rlscope.compare.verdict import first_iterations, gate_sentence, part_name, tables, verdict
from rlscope.report.screen import Screen
from rlscope.report.tables import table_lines


def print_comparison(comparison: Comparison, fail_above: float | None) -> None:
    """Print a comparison; with a limit in percent also what a gate says."""
    click.echo("\n".join(comparison_lines(comparison, fail_above, Screen.of_stdout())))


def comparison_lines(comparison: Comparison, fail_above: float | None, screen: Screen) -> list[str]:
    """Return the lines of a comparison."""
    lines = screen.filled(verdict(comparison))
    if fail_above is not None:
        lines += screen.filled(gate_sentence(comparison, fail_above))
    for table in tables(comparison):
        records = [_record(row, table.factor) for row in table.rows]
        lines += ["", *table_lines(table.title, records, screen)]
    if (first := first_iterations(comparison)) is not None:
        lines += ["", *screen.filled(first)]
    said = cautions(comparison)
    lines += ["", "Notes"] if said else []
    for sentence in said:
        lines += screen.filled(sentence, "- ", "  ")
    return lines


def _record(row: Row, factor: float) -> Record:
    found = row.difference
    return {
        "part": part_name(row.part),
        "base": found.base * factor,
        "other": found.other * factor,
        "change": found.value * factor,
        "low": found.low * factor,
        "high": found.high * factor,
        "sure": found.is_sure,
    }


def print_side(side: Side) -> None:
    """Print how long one side takes, and how far its runs scatter."""
    screen = Screen.of_stdout()
    lines = screen.filled(summary(side))
    records = stage_records(side)
    if records:
        lines += ["", *table_lines(f"Stages per {side.unit.value}", records, screen)]
    click.echo("\n".join(lines))
