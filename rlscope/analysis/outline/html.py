"""An analysis as HTML for a notebook: account and breakdown with bars; without a script, and at most 50 KB."""

from collections.abc import Iterable, Sequence

from rlscope.analysis.account.observations import observations
from rlscope.analysis.account.words import account_lines, account_title, folded
from rlscope.analysis.outline.tree import tree_lines
from rlscope.analysis.run_tables import RunTables
from rlscope.text import as_html, printable
from rlscope.text.numbers import digits, percent

#: What is shown at most, of which each character may become ten of an escape.
MOST_LINES, MOST_CAUSES, NAME_LENGTH, TEXT_LENGTH, MOST_REASONS = 80, 8, 40, 800, 3
BAR_EM = 12


def html_of(tables: RunTables, summary: str, changes: Sequence[str]) -> str:
    """Return tables and changes as HTML, behind a line that says what was recorded."""
    parts = [f"<p><b>{_text(str(tables.directory))}</b>: {_text(summary)}</p>"]
    parts += [f"<p>Incomplete: {_text(reason)}</p>" for reason in tables.why[:MOST_REASONS]]
    if (rest := len(tables.why) - MOST_REASONS) > 0:
        parts.append(f"<p>{rest:,} more reasons why it is incomplete are in <code>analysis.why</code>.</p>")
    causes = folded(account_lines(tables), MOST_CAUSES)
    names = [f"{cause.name}; {cause.where}" if cause.where else cause.name for cause in causes]
    rows = (_row(0, name, cause.seconds, cause.share) for name, cause in zip(names, causes, strict=True))
    parts.append(_table(_text(account_title(tables)), rows))
    parts += _listed("What would make it faster", changes)
    parts += _listed("What else stands out", observations(tables))
    lines = tree_lines(tables)
    corrected = ", without what recording added" if tables.correction is not None else ""
    of = _text(f" of {tables.path.process}", NAME_LENGTH) if tables.path and len(tables.processes) > 1 else ""
    rows = (_row(line.depth, line.branch.name, line.branch.seconds, line.branch.share) for line in lines[:MOST_LINES])
    parts.append(_table(f"part of the time{of}{corrected}", rows))
    if (rest := len(lines) - MOST_LINES) > 0:
        parts.append(f"<p>{rest:,} more lines: <code>analysis.breakdown.table</code> has all of it.</p>")
    return "\n".join(parts)


def _table(title: str, rows: Iterable[str]) -> str:
    head = f"<tr><th>{title}</th><th>seconds</th><th>share</th><th></th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _listed(title: str, sentences: Sequence[str]) -> list[str]:
    items = "".join(f"<li>{_text(sentence)}</li>" for sentence in sentences)
    return [f"<p>{title}:</p><ul>{items}</ul>"] if items else []


def _row(depth: int, name: str, seconds: float, share: float) -> str:
    name = f'<td style="text-align:left;padding-left:{0.5 + 1.5 * depth}em">{_text(name, NAME_LENGTH)}</td>'
    bar = f'<div style="width:{BAR_EM * max(0.0, min(share, 1.0)):.1f}em;height:0.8em;background:#4c78a8"></div>'
    bar = f'<td style="min-width:{BAR_EM}em">{bar}</td>'
    return f"<tr>{name}<td>{digits(seconds)}</td><td>{percent(share)}</td>{bar}</tr>"


def _text(text: str, length: int = TEXT_LENGTH) -> str:
    shown = printable(text)
    if len(shown) > length:
        shown = f"{shown[: length - length // 2]}…{shown[-(length // 2) :]}"
    return as_html(shown)
