"""Print what is known with an interval: what `rlscope compare` found, and what a sample says of a whole run."""

from collections.abc import Callable
from functools import partial

import click

from rlscope.analysis.account.account import public_name
from rlscope.analysis.rows import Record
from rlscope.compare.comparable import cautions
from rlscope.compare.comparison import Comparison, Row
from rlscope.compare.counts import CountRow
from rlscope.compare.estimate import CONFIDENCE_PERCENT, Estimate
from rlscope.compare.gate import Gate
from rlscope.compare.sampled.whole_run import WholeRun
from rlscope.compare.sides import Side
from rlscope.compare.summary import stage_records, summary
from rlscope.compare.verdict import (
    changed_counts,
    findings_sentences,
    part_name,
    sentences,
    tables,
    verdict,
)
from rlscope.report.screen import Screen
from rlscope.report.tables import table_lines
from rlscope.text.numbers import digits, digits_ends, duration, duration_ends, in_percent

#: A part of a run with less is shown only if all is.
LEAST_SHARE = 0.001
#: Of more reasons why a run is not known as a whole these are shown, unless all are.
MOST_REASONS = 10


def print_comparison(comparison: Comparison, gate: Gate) -> None:
    """Print a comparison, and what a gate says."""
    click.echo("\n".join(comparison_lines(comparison, gate, Screen.of_stdout())))


def comparison_lines(comparison: Comparison, gate: Gate, screen: Screen) -> list[str]:
    """Return the lines of a comparison."""
    lines = screen.filled(verdict(comparison))
    for decision in gate.sentences(comparison):
        lines += screen.filled(decision)
    if counts := changed_counts(comparison):
        title = f"What is counted per {comparison.base.unit.value}"
        lines += ["", *table_lines(title, [_count_record(row) for row in counts], screen)]
    for table in tables(comparison):
        records = [_record(row, table.factor) for row in table.rows]
        lines += ["", *table_lines(table.title, records, screen)]
    for sentence in sentences(comparison):
        lines += ["", *screen.filled(sentence)]
    changed = findings_sentences(comparison)
    lines += ["", "What rules find on one side alone"] if changed else []
    for sentence in changed:
        lines += screen.filled(sentence, "- ", "  ")
    said = cautions(comparison)
    lines += ["", "Notes"] if said else []
    for sentence in said:
        lines += screen.filled(sentence, "- ", "  ")
    return lines


def _count_record(row: CountRow) -> Record:
    base, other = row.means
    return {
        "counted": row.count.counted.value,
        "stage": row.count.stage,
        "name": public_name(row.count.name) or "all",
        "base": base,
        "other": other,
        "times": other / base if base else "new",
    }


def _record(row: Row, factor: float) -> Record:
    found = row.difference
    record: Record = {
        "part": part_name(row.part),
        "base": found.base * factor,
        "other": found.other * factor,
        "change": found.value * factor,
    }
    if found.low is not None and found.high is not None:
        record |= {"low": found.low * factor, "high": found.high * factor, "sure": found.is_sure}
    return record


def print_side(side: Side) -> None:
    """Print how long one side takes, and how far its runs scatter."""
    screen = Screen.of_stdout()
    lines = screen.filled(summary(side))
    records = stage_records(side)
    if records:
        lines += ["", *table_lines(f"Stages per {side.unit.value}", records, screen)]
    click.echo("\n".join(lines))


def print_whole_run(found: WholeRun, is_whole: bool) -> None:
    """Print an estimate of a run, and that it is one; parts of less than a thousandth only if it is to be whole."""
    screen = Screen.of_stdout()
    seconds = found.seconds.value
    took = f"{duration(seconds)} {_ends(found.seconds, partial(duration_ends, seconds))}"
    lines = screen.filled(
        f"Estimated from {found.recorded:,} of {found.iterations:,} iterations, which took "
        f"{took}. What is in parentheses is a {CONFIDENCE_PERCENT} % interval."
    )
    for reason in found.why if is_whole else found.why[:MOST_REASONS]:
        lines += screen.filled(f"incomplete: {reason}", "  ", "    ")
    if not is_whole and len(found.why) > MOST_REASONS:
        lines.append(f"  incomplete: {len(found.why) - MOST_REASONS} more reasons, with --all")
    records: list[Record] = [
        {
            "stage": part.stage or "(all)",
            "category": part.category or "(all)",
            "seconds": f"{digits(part.seconds.value)} {_ends(part.seconds, digits_ends)}",
            "percent": f"{in_percent(100 * part.share.value)} {_ends(part.share, _percent_ends)}",
        }
        for part in found.parts
        if is_whole or part.share.value >= LEAST_SHARE
    ]
    click.echo("\n".join([*lines, "", *table_lines("Where the time of the whole run went", records, screen)]))


def _ends(found: Estimate, text: Callable[[float, float], str]) -> str:
    return "(no interval)" if found.low is None or found.high is None else text(found.low, found.high)


def _percent_ends(low: float, high: float) -> str:
    return f"({in_percent(100 * low)} to {in_percent(100 * high)})"
