"""Many runs, or all windows of one, as one table: where the time of each went, and that of all together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import click

from rlscope.analysis.account.words import Line, account_lines, folded
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import Record
from rlscope.report.first_screen import MOST_CAUSES, MOST_CHANGES, account_table
from rlscope.report.screen import Screen
from rlscope.report.tables import table_lines
from rlscope.rules.rule import finding_text
from rlscope.text.numbers import duration, percent

#: So many causes have a column of the table.
MOST_COLUMNS = 4


def print_many(named: Mapping[str, Analysis], title: str, notes: Sequence[str] = ()) -> None:
    """Print one table of many runs.

    Args:
        named: What is analyzed, by what it is called.
        title: What these are.
        notes: What a reader must know of all of them, one sentence each.
    """
    click.echo("\n".join(many_lines(named, title, notes, Screen.of_stdout())))


def many_lines(named: Mapping[str, Analysis], title: str, notes: Sequence[str], screen: Screen) -> list[str]:
    """Return the lines of that table, of what all together took, and of what rules find in most of them."""
    accounts = {name: account_lines(analysis) for name, analysis in named.items()}
    whole = joined_lines(accounts.values())
    columns = [line.name for line in sorted(whole, key=lambda line: -line.seconds)[:MOST_COLUMNS]]
    records = [_record(name, accounts[name], analysis.iterations, columns) for name, analysis in named.items()]
    lines = table_lines(title, records, screen)
    for note in notes:
        lines += screen.filled(note)
    if whole:
        lines += account_table(f"Where the time of all {len(named)} went", folded(whole, MOST_CAUSES), screen)
    found = _findings(named.values())
    if found:
        lines += ["", "What would make them faster"]
    for text in found[:MOST_CHANGES]:
        lines += screen.filled(text, "  ", "    ")
    return [*lines, "", *screen.filled("More of one: rlscope analyze DIR; of all: --all", "", "  ")]


def joined_lines(accounts: Iterable[Sequence[Line]]) -> list[Line]:
    """Return the causes of all accounts together, the longest first; each is where it is in the run with most of it."""
    longest: dict[str, Line] = {}
    seconds: dict[str, float] = defaultdict(float)
    for account in accounts:
        for line in account:
            seconds[line.name] += line.seconds
            if line.name not in longest or line.seconds > longest[line.name].seconds:
                longest[line.name] = line
    wall_s = sum(seconds.values())
    joined = [line._replace(seconds=seconds[name], share=seconds[name] / wall_s) for name, line in longest.items()]
    return sorted(joined, key=lambda line: (line.is_of_others, -line.seconds))


def _record(name: str, account: Sequence[Line], iterations: int | None, columns: Sequence[str]) -> Record:
    shares: dict[str, float] = defaultdict(float)
    for line in account:
        shares[line.name] += line.share
    return {
        "run": name,
        "took": duration(sum(line.seconds for line in account)),
        "iterations": iterations or 0,
        **{column: percent(shares[column]) for column in columns},
        "rest": percent(max(0.0, 1 - sum(shares[column] for column in columns))),
    }


def _findings(analyses: Collection[Analysis]) -> list[str]:
    """Return what rules find, in most runs first: in how many of them, and what they say of the first."""
    count: Counter[str] = Counter()
    said: dict[str, str] = {}
    for analysis in analyses:
        for row in {row.code: row for row in reversed([*analysis.findings])}.values():
            count[row.code] += 1
            said.setdefault(row.code, finding_text(row))
    return [f"{said[code]} (in {number} of {len(analyses)})" for code, number in count.most_common()]
