"""This file says on the page where the time went and what would make the run faster: bars, and what is not known."""

from collections.abc import Mapping, Sequence
from typing import Any

from rlscope.analysis.account.observations import notes, observations
from rlscope.analysis.account.words import Line, account_lines, account_title
from rlscope.analysis.analysis import Analysis
from rlscope.page.bars import bar
from rlscope.rules.rule import finding_text
from rlscope.text import as_html
from rlscope.text.numbers import duration, percent

#: The colour of a cause that is of no layer alone, as page.css names it.
OF_SEVERAL = "cause"


def account_of(analysis: Analysis) -> dict[str, Any]:
    """Return what the header has of an account: what a terminal shows, in the same words."""
    return {
        "title": account_title(analysis),
        "lines": [line._asdict() for line in account_lines(analysis)],
        "changes": [finding_text(row) for row in analysis.findings],
        "observations": observations(analysis),
        "notes": notes(analysis),
    }


def account_part(account: Mapping[str, Any]) -> str:
    """Show the account of a trace in the header; nothing if no process took time."""
    lines = [Line(**line) for line in account["lines"]]
    parts = [causes(account["title"], lines)] if lines else []
    if account["changes"]:
        parts.append(f"<p><strong>What would make it faster</strong></p>{listed(account['changes'])}")
    parts.append(listed(account["observations"]))
    if account["notes"]:
        parts.append(f"<details><summary>What this does not know</summary>{listed(account['notes'])}</details>")
    return "".join(parts)


def causes(title: str, lines: Sequence[Line]) -> str:
    """Show how long each cause took."""
    rows = "".join(
        f"<tr><td>{as_html(line.name)}</td><td class='number'>{duration(line.seconds)}</td>"
        f"<td class='number'>{percent(line.share)}</td><td>{bar(line.share, line.layer or OF_SEVERAL)}</td>"
        f"<td>{as_html(line.where)}</td></tr>"
        for line in lines
    )
    return f"<table><caption>{as_html(title)}</caption><tbody>{rows}</tbody></table>"


def listed(sentences: Sequence[str]) -> str:
    """Return the sentences as a list; nothing where there are none."""
    items = "".join(f"<li>{as_html(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""
