"""This file makes the page of a study: figures, and the verdicts on its claims with the figure beside each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.verdicts.claims import BY_CALCULATION, KINDS, Verdict, answers, claims_table, counts, split
from rlscope.page.plain_page import Page
from rlscope.text import as_html

#: In the order in which a reader looks for them; the picture has no head.
COLUMNS = ("", "verdict", "claim", "statement", "subject", "measured", "holds if", "published", "hardware", "remark")
NO_NAMES: Mapping[str, str] = {}
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
        self._numbers: list[str] = []
        self.paragraphs(first)

    def paragraphs(self, sentences: Sequence[str]) -> None:
        """Add a paragraph for each."""
        for sentence in sentences:
            self.paragraph(sentence)

    def show(self, figure: ShownFigure) -> None:
        """Show a figure, which verdicts may be about."""
        self.figures.append(figure)
        self.figure(figure.stem, figure.caption)

    def numbers(
        self, caption: str, table: pd.DataFrame, markup: Mapping[str, Callable[[Any], str]] | None = None
    ) -> None:
        """Show a table at the end of the page, folded; `markup` is as in `table`."""
        if table.empty:
            return
        page = Page("")
        page.table(table, caption, markup=markup)
        self._numbers.append(f"<details><summary>{as_html(caption)}</summary>{page.body}</details>")

    def write(self, path: Path) -> None:
        """Write the page."""
        if self._numbers:
            self.heading("Numbers")
            self.add("".join(self._numbers))
        super().write(path)

    def claims(self, verdicts: Sequence[Verdict], names: Mapping[str, str] = NO_NAMES) -> None:
        """Answer the study's question above all else; show the verdicts, each beside its figure, and what was
        calculated apart from the rest.

        Args:
            verdicts: of the study.
            names: of subjects, for people, where they are not those that verdicts have.
        """
        said = "".join(f'<p class="answer">{as_html(sentence)}</p>' for sentence in answers(verdicts, names))
        self._parts.insert(0, said)
        self.heading("Claims")
        judged, calculated = split(verdicts)
        self.add(f"<p>{count_chips(counts(judged))}</p>")
        of_tool = counts(judged, tool=True)
        self.add(f"<p>On what the tool can do: {count_chips(of_tool)}</p>" if of_tool else "")
        table = claims_table(judged).assign(hardware=[verdict.claim.hardware for verdict in judged])
        table["subject"] = [names.get(subject, subject) for subject in table["subject"]]
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
