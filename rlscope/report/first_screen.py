"""The first screen of an analysis: what was run, where the time went, what would make it faster; at most 25 lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from rlscope.analysis.account.account import AccountRow
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.advice.sentences import growth_sentences, straggler_sentences
from rlscope.analysis.analysis import Analysis
from rlscope.model import CATEGORIES, Category
from rlscope.report.screen import Screen, padded
from rlscope.text.numbers import digits, duration, duration_ends, percent

#: A screen has at most so many lines, of these so many for causes, for changes and for what is missing.
MOST_LINES, MOST_CAUSES, MOST_CHANGES, MOST_FINDINGS, MOST_REASONS = 25, 8, 3, 2, 2
#: Smaller causes are counted together.
LEAST_SHARE = 0.005
#: Of what is not known, less needs no line that says what to do.
LEAST_UNKNOWN = 0.05
#: An operation that grows is worth a sentence where it has such a share of the run.
LEAST_GROWN = 0.05
#: What people call backends, by their packages.
BACKENDS = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}
#: In the first column of a cause.
INDENT = "  "


class Line(NamedTuple):
    """A cause as a screen shows it: its name, seconds, share of the wall time, and where most of it is."""

    name: str
    seconds: float
    share: float
    where: str


def screen_lines(analysis: Analysis, screen: Screen) -> list[str]:
    """Return the first screen.

    Args:
        analysis: Of a trace.
        screen: What is written to.
    """
    head = [*_title(analysis, screen)]
    tail = [*_changes(analysis, screen), *_findings(analysis, screen), *_more(analysis, screen)]
    lines = account_lines(analysis)
    room = MOST_LINES - len(head) - len(tail)
    for shown in range(min(len(lines), MOST_CAUSES), 0, -1):
        table = [*_account(analysis, folded(lines, shown), screen)]
        if len(table) <= room:
            break
    return [*head, *table, *tail] if lines else [*head, *tail]


def account_lines(analysis: Analysis) -> list[Line]:
    """Return the causes of an account, the longest first: rows of one name are one line."""
    found: dict[str, Line] = {}
    layers = layer_words(analysis)
    for row in analysis.account:
        name = row_words(row, layers)
        line = found.get(name, Line(name, 0.0, 0.0, _where(row, analysis)))
        found[name] = line._replace(seconds=line.seconds + row.seconds, share=line.share + row.share)
    return sorted(found.values(), key=lambda line: -line.seconds)


def row_words(row: AccountRow, layers: Mapping[str, str]) -> str:
    """Return what a screen calls a row of an account: `simulation, PyTorch`, `waiting for worker-1 to 4`.

    Args:
        row: Of the account.
        layers: What layers are called.
    """
    cause = Cause(row.cause)
    layer = f", {layers.get(row.category, row.category)}" if cause.has_layers else ""
    if cause in (Cause.WAITING, Cause.DISK):
        return f"{cause.words}{' for' if row.assumed else ' in'} {row.on}" if row.on else cause.words
    if cause in (Cause.MESSAGES, Cause.PROCESSES):
        return f"{cause.words}, {row.on}"
    if cause is Cause.GPU:
        return f"{cause.words}, {Cause(row.stage).words}" if row.stage else cause.words
    return f"{cause.words}{layer}{f' in {row.on}' if row.on and cause.has_layers else ''}"


def layer_words(analysis: Analysis) -> dict[str, str]:
    """Return what layers are called: the backend by its name, if the run has only one."""
    used = {row.boundary.partition(".")[0] for row in analysis.crossings} & BACKENDS.keys()
    words = {label: category.words for label, category in CATEGORIES.items()}
    return words | ({Category.BACKEND.label: BACKENDS[used.pop()]} if len(used) == 1 else {})


def folded(lines: Sequence[Line], most: int) -> list[Line]:
    """Return as many of the lines as fit, and what the others sum to."""
    shown = [line for line in lines[:most] if line.share >= LEAST_SHARE] or list(lines[:1])
    rest = lines[len(shown) :]
    if len(rest) == 1 and len(shown) < most:
        return [*shown, *rest]
    if rest:
        shown.append(
            Line(f"{len(rest)} more", sum(line.seconds for line in rest), sum(line.share for line in rest), "")
        )
    return shown


def _title(analysis: Analysis, screen: Screen) -> Iterator[str]:
    yield from screen.filled(f"{analysis.command or analysis.directory}", following="  ")[:2]
    yield from screen.filled(analysis.summary, INDENT)
    for reason in analysis.why[:MOST_REASONS]:
        yield from screen.filled(f"incomplete: {reason}", INDENT, INDENT * 2)
    if (rest := len(analysis.why) - MOST_REASONS) > 0:
        yield f"{INDENT}incomplete for {rest:,} more reasons, which --all shows"


def _account(analysis: Analysis, lines: Sequence[Line], screen: Screen) -> Iterator[str]:
    yield ""
    of = f" ({analysis.path.process}, which paces the run)" if analysis.path and len(analysis.processes) > 1 else ""
    yield screen.cut(screen.shown(f"Where the time went{of}"), screen.width)
    names = [screen.shown(line.name) for line in lines]
    seconds = [screen.shown(duration(line.seconds)) for line in lines]
    shares = [percent(line.share) for line in lines]
    width = min(max(map(cell_len, names)), screen.width - 24)
    for name, took, share, line in zip(names, seconds, shares, lines, strict=True):
        text = f"{INDENT}{padded(name, width)}  {took:>8}  {share:>7}"
        where = screen.shown(line.where)
        if where and cell_len(text) + 2 + cell_len(where) <= screen.width:
            yield f"{text}  {where}"
        else:
            yield text
            if where:
                yield from screen.filled(where, INDENT * 2)


def _where(row: AccountRow, analysis: Analysis) -> str:
    """Say where most of a row is, or who wanted the cores."""
    cores = analysis.cores
    if row.cause == Cause.NO_CORE and cores.ready_threads is not None and cores.usable is not None:
        of = "threads" if cores.is_own_doing else "threads of all programs"
        return f"{digits(cores.ready_threads)} {of} ready for {digits(cores.usable)} cores"
    return ""


def _changes(analysis: Analysis, screen: Screen) -> Iterator[str]:
    if analysis.changes:
        yield ""
        yield "What would make it faster"
    for change in analysis.changes[:MOST_CHANGES]:
        yield from screen.filled(change, INDENT, INDENT * 2)


def _findings(analysis: Analysis, screen: Screen) -> Iterator[str]:
    """Say what else stands out: what takes longer each time, memory that grows, ranks that keep others waiting."""
    sentences = [
        *straggler_sentences(analysis.stragglers), *_longer(analysis), *growth_sentences(analysis.memory_growth),
    ][:MOST_FINDINGS]  # fmt: skip
    if sentences:
        yield ""
    for sentence in sentences:
        yield from screen.filled(sentence, "", INDENT)


def _longer(analysis: Analysis) -> Iterator[str]:
    """Say of which operations each takes longer than the one before it, where that is much of the run."""
    wall_s = sum(row.seconds for row in analysis.account)
    process = analysis.path.process if analysis.path else ""
    for row in analysis.durations:
        if row.grows and row.process == process and row.count * row.mean_s >= LEAST_GROWN * wall_s:
            slope = duration_ends(row.slope_s, row.slope_low_s, row.slope_high_s)
            yield (
                f"Each {row.operation} takes longer than the one before it, by {duration(row.slope_s)} {slope}: "
                f"{duration(row.first_s)} at first, {duration(row.last_s)} at the end of {row.count:,}."
            )


def _more(analysis: Analysis, screen: Screen) -> Iterator[str]:
    yield ""
    unknown_s = sum(row.seconds for row in analysis.account if not Cause(row.cause).is_known)
    wall_s = sum(row.seconds for row in analysis.account)
    if wall_s > 0:
        share = percent(unknown_s / wall_s)
        todo = "; name what runs there: docs/naming-stages.md" if unknown_s >= LEAST_UNKNOWN * wall_s else ""
        yield from screen.filled(f"Not known, only where it is: {share}{todo}", "", INDENT)
    directory = analysis.directory
    yield from screen.filled(f"More: rlscope analyze {directory} --all; rlscope report {directory}", "", INDENT)
