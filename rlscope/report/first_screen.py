"""The first screen of an analysis: what was run, where the time went, what would make it faster; at most 25 lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rlscope.analysis.account.observations import observations
from rlscope.analysis.account.words import Line, account_lines, account_title, folded, unknown_share, unnamed_share
from rlscope.analysis.analysis import Analysis
from rlscope.report.screen import Screen, cell_len, padded, print_parts
from rlscope.report.sentences import counter_lines, misnested_lines, stage_name_lines
from rlscope.rules.rule import finding_text
from rlscope.text.numbers import duration, percent

#: A screen has at most so many lines, of these so many for causes, for changes and for what is missing.
MOST_LINES, MOST_CAUSES, MOST_CHANGES, MOST_OBSERVATIONS, MOST_REASONS = 25, 8, 3, 2, 2
#: Of what is not known, or of what is in no stage, less needs no line that says what to do.
LEAST_UNKNOWN = 0.05
NAMING = "docs/naming-stages.md"
#: In the first column of a cause.
INDENT = "  "


def print_screens(analyses: Iterable[Analysis]) -> None:
    """Print the first screen of each analysis."""
    screen = Screen.of_stdout()
    print_parts(screen_lines(analysis, screen) for analysis in analyses)


def screen_lines(analysis: Analysis, screen: Screen) -> list[str]:
    """Return the first screen.

    Args:
        analysis: Of a trace.
        screen: What is written to.
    """
    head, lines = [*_title(analysis, screen)], account_lines(analysis)
    changes, more = [*_changes(analysis, screen, MOST_CHANGES)], [*_more(analysis, screen)]
    for observed in range(MOST_OBSERVATIONS, -1, -1):
        tail = [*changes, *_observations(analysis, screen, observed), *more]
        for shown in range(min(len(lines), MOST_CAUSES), 0, -1) if lines else (0,):
            table = account_table(account_title(analysis), folded(lines, shown), screen) if lines else ()
            if len(whole := [*head, *table, *tail]) <= MOST_LINES:
                return whole
    return [*head, *tail]


def whole_lines(analysis: Analysis, screen: Screen) -> list[str]:
    """Return what the first screen has, with all causes, changes and observations."""
    lines = account_lines(analysis)
    table = account_table(account_title(analysis), lines, screen) if lines else ()
    return [*table, *_changes(analysis, screen, None), *_observations(analysis, screen, None)]


def _title(analysis: Analysis, screen: Screen) -> Iterator[str]:
    yield from screen.filled(f"{analysis.command or analysis.directory}", following="  ")[:2]
    yield from screen.filled(analysis.summary, INDENT)
    if analysis.hang is not None:
        yield from screen.filled(
            f"stuck for {duration(analysis.hang.seconds)}: {analysis.hang.sentence}", INDENT, INDENT * 2
        )
    for reason in analysis.why[:MOST_REASONS]:
        yield from screen.filled(f"incomplete: {reason}", INDENT, INDENT * 2)
    if (rest := len(analysis.why) - MOST_REASONS) > 0:
        yield f"{INDENT}incomplete for {rest:,} more reasons, which --all shows"


def account_table(title: str, lines: Sequence[Line], screen: Screen) -> Iterator[str]:
    """Yield causes as lines below a title: what each is called, its seconds, its share and where it is."""
    yield ""
    yield screen.cut(screen.shown(title), screen.width)
    names = [screen.shown(line.name) for line in lines]
    seconds = [screen.shown(duration(line.seconds)) for line in lines]
    shares = [percent(line.share) for line in lines]
    width = min(max(map(cell_len, names)), screen.width - 24)
    for name, took, share, line in zip(names, seconds, shares, lines, strict=True):
        if cell_len(name) > width:
            yield from screen.filled(name, INDENT)
            name = ""
        text = f"{INDENT}{padded(name, width)}  {took:>8}  {share:>7}"
        where = screen.shown(line.where)
        if where and cell_len(text) + 2 + cell_len(where) <= screen.width:
            yield f"{text}  {where}"
        else:
            yield text
            if where:
                yield from screen.filled(where, INDENT * 2)


def _changes(analysis: Analysis, screen: Screen, most: int | None) -> Iterator[str]:
    if analysis.findings:
        yield ""
        yield "What would make it faster"
    elif analysis.account and analysis.hang is None:
        yield ""
        yield from screen.filled("What would make it faster: nothing that rules know", "", INDENT)
    for row in list(analysis.findings)[:most]:
        yield from screen.filled(finding_text(row), INDENT, INDENT * 2)


def _observations(analysis: Analysis, screen: Screen, most: int | None) -> Iterator[str]:
    """Say what else stands out: what takes longer each time, memory that grows, ranks that keep others waiting.

    Where not all are shown, what a reader of the numbers must know comes first; `--all` has notes of it.
    """
    found = observations(analysis) if most is None else [*_warnings(analysis), *observations(analysis)]
    if found:
        yield ""
    for sentence in found[:most]:
        yield from screen.filled(sentence, "", INDENT)
    if most is not None and len(found) > most:
        yield f"{len(found) - most:,} more notes with --all"


def _warnings(analysis: Analysis) -> list[str]:
    return [
        *counter_lines(analysis), *stage_name_lines(analysis), *misnested_lines(analysis), *analysis.without_stacks,
    ]  # fmt: skip


def _more(analysis: Analysis, screen: Screen) -> Iterator[str]:
    yield ""
    if analysis.account:
        unknown = unknown_share(analysis)
        todo = f"; name what runs there: {NAMING}" if unknown >= LEAST_UNKNOWN else ""
        yield from screen.filled(f"Not known: {percent(unknown)}{todo}", "", INDENT)
        unnamed = unnamed_share(analysis)
        if unnamed >= LEAST_UNKNOWN:
            yield from screen.filled(f"In no stage: {percent(unnamed)}; name these functions: {NAMING}", "", INDENT)
    directory = analysis.directory
    yield from screen.filled(f"More: rlscope analyze {directory} --all; rlscope report {directory}", "", INDENT)
