"""This file makes the gallery of the page over all studies: each figure with the verdicts on what it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from experiments.verdicts.claims import DIFFERS, Verdict, counts
from experiments.verdicts.study_page import NO_NAMES, ShownFigure, chip, count_chips, figure_of
from rlscope.page.plain_page import link
from rlscope.text import as_html

IN_NO_FIGURE = "In no figure"


def cards(
    study: str,
    folder: str,
    verdicts: Sequence[Verdict],
    figures: Sequence[ShownFigure],
    names: Mapping[str, str] = NO_NAMES,
) -> str:
    """Return a card for each figure of a study as HTML, and one for the verdicts on what no figure shows.

    Args:
        study: its title.
        folder: in which its page lies; empty where it has none.
        verdicts: of the study; those on calculated numbers are left out.
        figures: of the study.
        names: of subjects, for people, where they are not those that verdicts have.
    """
    said = [replace(verdict, subject=names.get(verdict.subject, verdict.subject)) for verdict in verdicts]
    by_figure: dict[ShownFigure | None, list[Verdict]] = {figure: [] for figure in figures}
    for verdict, shown in zip(verdicts, said, strict=True):
        if not verdict.is_calculated:
            by_figure.setdefault(figure_of(verdict, figures), []).append(shown)
    all_cards = "".join(card(study, folder, figure, of_figure) for figure, of_figure in by_figure.items())
    return f"<div>{all_cards}</div>"


def card(study: str, folder: str, figure: ShownFigure | None, verdicts: Sequence[Verdict]) -> str:
    """Return a card as HTML: the figure, counts of verdicts, what differs and why, and what does not, folded up."""
    differing = "".join(line(study, verdict) for verdict in verdicts if verdict.verdict == DIFFERS)
    others = [verdict for verdict in verdicts if verdict.verdict != DIFFERS]
    parts = [picture(folder, figure), f"<h3>{as_html(figure.caption if figure else IN_NO_FIGURE)}</h3>"]
    parts += [f"<p>{count_chips(counts(verdicts))}</p>"] if verdicts else []
    parts += [f"<ul>{differing}</ul>"] if differing else []
    if others:
        lines = "".join(line(study, verdict) for verdict in others)
        parts.append(f"<details><summary>{len(others)} that do not differ</summary><ul>{lines}</ul></details>")
    return f'<article class="card">{"".join(parts)}</article>'


def picture(folder: str, figure: ShownFigure | None) -> str:
    """Return a small picture that leads to the figure on its study's page, as HTML."""
    if figure is None:
        return ""
    place, stem, said = as_html(folder), as_html(figure.stem), as_html(figure.caption)
    image = f'<img src="{place}/{stem}.png" alt="{said}" loading="lazy">'
    return f'<a class="thumbnail" href="{place}/index.html#{stem}">{image}</a>'


def line(study: str, verdict: Verdict) -> str:
    """Return a verdict as HTML: of what, what was measured and claimed, and why it differs if it does."""
    claim = verdict.claim
    measured = f": {verdict.measured_text} (it holds if {claim.condition})" if verdict.measured else ""
    why = f". Why it may differ: {claim.may_differ}" if verdict.verdict == DIFFERS else ""
    said = f"{claim.id}, {verdict.subject}: {claim.statement}{measured}{why}."
    keys = {"study": study, "claim": claim.id, "hardware": claim.hardware, "verdict": verdict.verdict}
    data = "".join(f' data-{key}="{as_html(value)}"' for key, value in keys.items())
    return f"<li{data}>{chip(verdict.text)}{as_html(said)}</li>"


def section(title: str, address: str, inside: str) -> str:
    """Return a section of the gallery as HTML; its heading leads to a page where there is one."""
    return f'<section class="cards"><h2>{link(address, title) if address else as_html(title)}</h2>{inside}</section>'
