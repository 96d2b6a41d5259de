"""An analysis as HTML for a notebook: a paragraph, and a table with bars; without a script, and at most 50 KB."""

from rlscope.analysis.advice.advice import Advice
from rlscope.analysis.outline.tree import Line, tree_lines
from rlscope.analysis.run_tables import RunTables
from rlscope.text import as_html, printable
from rlscope.text.numbers import digits, percent

#: What is shown at most, of which each character may become ten of an escape.
MOST_LINES, NAME_LENGTH, TEXT_LENGTH, MOST_REASONS = 80, 40, 800, 3
BAR_EM = 12


def html_of(tables: RunTables, advice: Advice | None) -> str:
    """Return tables and what they advise as HTML."""
    parts = [f"<p><b>{_text(str(tables.directory))}</b>: {_text(tables.summary)}</p>"]
    parts += [f"<p>Incomplete: {_text(reason)}</p>" for reason in tables.why[:MOST_REASONS]]
    if (rest := len(tables.why) - MOST_REASONS) > 0:
        parts.append(f"<p>{rest:,} more reasons why it is incomplete are in <code>analysis.why</code>.</p>")
    if advice is not None:
        said = advice.sentences
        sentences = (*said.causes, *said.purposes, *said.lines, *said.waits, *said.changes)
        parts.append(f"<p>{_text(' '.join(sentences))}</p>")
    lines = tree_lines(tables)
    corrected = ", without what recording added" if tables.correction is not None else ""
    of = _text(f" of {tables.path.process}", NAME_LENGTH) if tables.path and len(tables.processes) > 1 else ""
    head = f"<tr><th>part of the time{of}{corrected}</th><th>seconds</th><th>share</th><th></th></tr>"
    parts.append(f"<table><thead>{head}</thead><tbody>{''.join(map(_row, lines[:MOST_LINES]))}</tbody></table>")
    if (rest := len(lines) - MOST_LINES) > 0:
        parts.append(f"<p>{rest:,} more lines: <code>analysis.breakdown.table</code> has all of it.</p>")
    return "\n".join(parts)


def _row(line: Line) -> str:
    branch = line.branch
    name = f'<td style="text-align:left;padding-left:{0.5 + 1.5 * line.depth}em">{_text(branch.name, NAME_LENGTH)}</td>'
    bar = f'<div style="width:{BAR_EM * max(0.0, min(branch.share, 1.0)):.1f}em;height:0.8em;background:#4c78a8"></div>'
    bar = f'<td style="min-width:{BAR_EM}em">{bar}</td>'
    return f"<tr>{name}<td>{digits(branch.seconds)}</td><td>{percent(branch.share)}</td>{bar}</tr>"


def _text(text: str, length: int = TEXT_LENGTH) -> str:
    shown = printable(text)
    if len(shown) > length:
        shown = f"{shown[: length - length // 2]}…{shown[-(length // 2) :]}"
    return as_html(shown)
