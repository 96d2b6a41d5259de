"""This file makes the page of a study: figures, and the verdicts on its claims with the figure beside each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.verdicts.claims import BY_CALCULATION, KINDS, Verdict, claims_table, counts, split
from rlscope.page.plain_page import Page
from rlscope.text import as_html

#: In the order in which a reader looks for them; the picture has no head.
COLUMNS = ("", "verdict", "claim", "statement", "subject", "measured", "holds if", "published", "hardware", "remark")
FILTERS = ("claim", "subject", "hardware", "verdict")


@dataclass(frozen=True)
class ShownFigure:
    """A figure on the page of a study.

    Attributes:
        stem: of its files.
        caption: under it.
        subjects: whom it shows, as in verdicts; empty for all.
        kind: what it draws, as `figure` in claims.toml says it.
    """

    stem: str
    caption: str
    subjects: tuple[str, ...] = ()
    kind: str = ""

    def shows(self, verdict: Verdict) -> bool:
        """Return whether it shows what a verdict is about."""
        of_kind = not verdict.claim.figure or verdict.claim.figure == self.kind
        return of_kind and (not self.subjects or verdict.subject in self.subjects)


def figure_of(verdict: Verdict, figures: Sequence[ShownFigure]) -> ShownFigure | None:
    """Return the first figure that shows what a verdict is about; None where there is none."""
    return next((figure for figure in figures if figure.shows(verdict)), None)


class StudyPage(Page):
    """Collects the parts of a study's page.

    Attributes:
        output: The folder in which the page, its figures and the runs lie.
        figures: Those that are on the page so far.
    """

    def __init__(self, title: str, output: Path, *first: str) -> None:
        """Begin the page with paragraphs."""
        super().__init__(title)
        self.output = output
        self.figures: list[ShownFigure] = []
        for sentence in first:
            self.paragraph(sentence)

    def show(self, figure: ShownFigure) -> None:
        """Show a figure, which verdicts may be about."""
        self.figures.append(figure)
        self.figure(figure.stem, figure.caption)

    def claims(self, verdicts: Sequence[Verdict]) -> None:
        """Show the verdicts, each beside its figure, and what was calculated apart from the rest."""
        judged, calculated = split(verdicts)
        self.add(f"<p>{count_chips(counts(judged))}</p>")
        table = claims_table(judged).assign(hardware=[verdict.claim.hardware for verdict in judged])
        table[""] = [figure_of(verdict, self.figures) for verdict in judged]
        markup: dict[str, Callable[[Any], str]] = {"": thumbnail, "verdict": chip}
        self.table(table.reindex(columns=COLUMNS), "Verdicts", filters=FILTERS, markup=markup)
        if calculated:
            self.paragraph(BY_CALCULATION)
            self.table(claims_table(calculated), "By calculation", markup={"verdict": chip})


def thumbnail(figure: ShownFigure | None) -> str:
    """Return a small picture that leads to the figure on the page."""
    if figure is None:
        return ""
    stem, said = as_html(figure.stem), as_html(figure.caption)
    return f'<a class="thumbnail" href="#{stem}"><img src="{stem}.png" alt="{said}" loading="lazy"></a>'


def chip(text: str) -> str:
    """Return a verdict as HTML, such as "holds (provisional)": its colour goes by its kind."""
    kind = next(kind for kind in KINDS if text.startswith(kind))
    return f'<span class="chip chip-{kind.split()[0]}" data-key="{kind}">{as_html(text)}</span>'


def count_chips(text: str) -> str:
    """Return counts of verdicts, such as "3 holds, 1 undecided", as HTML with the colour of each kind."""
    found = filter(None, text.split(", "))
    return "".join(f'<span class="chip chip-{count.split()[1]}">{count}</span>' for count in found)
