"""Makes a page of figures, tables and remarks, in the look of a trace's page."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from rlscope.page.assemble import PLAIN_MODULES, document, script
from rlscope.plots.figure_files import FIGURE_FORMATS
from rlscope.plots.tables import cell_text
from rlscope.text import as_html

#: Images lie beside the page. A file has no origin that `'self'` could mean.
IMAGES = "'self' file:"
NUMBER = ' class="number"'


class Page:
    """Collects the parts of a page from top to bottom. Without a script it shows the same, unsorted."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._heading = title
        self._parts: list[str] = []

    def heading(self, text: str) -> None:
        """Start a section."""
        self._heading = text
        self._parts.append(f"<h2>{as_html(text)}</h2>")

    def paragraph(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{as_html(text)}</p>")

    def warning(self, text: str) -> None:
        """Add something that the reader must know before believing the numbers."""
        self._parts.append(f'<p class="warning">{as_html(text)}</p>')

    def figure(self, stem: str, caption: str) -> None:
        """Show STEM.png, with links to the other formats and to STEM.csv, the numbers behind it."""
        file, said = as_html(stem), as_html(caption)
        links = " ".join(f'<a href="{file}.{kind}">{kind.upper()}</a>' for kind in (*FIGURE_FORMATS, "csv"))
        self._parts.append(
            f'<figure id="{file}"><a href="{file}.svg"><img src="{file}.png" alt="{said}" width="640">'
            f"</a><figcaption>{said} {links}</figcaption></figure>"
        )

    def table(
        self,
        table: pd.DataFrame,
        caption: str = "",
        filters: Collection[str] = (),
        markup: Mapping[str, Callable[[Any], str]] | None = None,
    ) -> None:
        """Show a table.

        Args:
            table: what it shows; a column without a name has no head.
            caption: above it.
            filters: names of columns by whose values a reader chooses rows.
            markup: for a column whose cells are not text, from a value to HTML.
        """
        kinds = [NUMBER if is_number(kind) else "" for kind in table.dtypes]
        shown = [(markup or {}).get(column, text_cell) for column in table.columns]
        names = zip(table.columns, kinds, strict=True)
        heads = "".join(head(str(column), kind, column in filters) for column, kind in names)
        rows = (
            "".join(f"<td{kind}>{show(value)}</td>" for kind, show, value in zip(kinds, shown, row, strict=True))
            for row in table.itertuples(index=False, name=None)
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        above = f"<caption>{as_html(caption)}</caption>" if caption else ""
        self._parts.append(
            f'<div class="table" data-label="{as_html(caption or self._heading)}"><div class="scroll">'
            f"<table>{above}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div></div>"
        )

    def link(self, target: str, text: str) -> None:
        """Add a link on a line of its own."""
        self._parts.append(f"<p>{link(target, text)}</p>")

    def add(self, markup: str) -> None:
        """Add HTML, in which each name has gone through `as_html`."""
        self._parts.append(markup)

    @property
    def body(self) -> str:
        """Return what is on the page so far, as HTML."""
        return "\n".join(self._parts)

    def write(self, path: Path) -> None:
        """Write the page."""
        buttons = '<span id="buttons"></span>'
        page = document(self._title, buttons, self.body, "", script(PLAIN_MODULES), IMAGES)
        path.write_text(page, encoding="utf-8")


def text_cell(value: object) -> str:
    """Return a value of a table as HTML."""
    return as_html(cell_text(value))


def link(target: str, text: str) -> str:
    """Return a link as HTML."""
    return f'<a href="{as_html(target)}">{as_html(text)}</a>'


def is_number(kind: Any) -> bool:
    """Return whether a column of this type is shown and sorted as numbers."""
    return bool(pd.api.types.is_numeric_dtype(kind)) and not pd.api.types.is_bool_dtype(kind)


def head(text: str, kind: str, is_filter: bool) -> str:
    """Return the head of a column as HTML."""
    if not text:
        return "<td></td>"
    return f"<th{kind}{' data-filter' if is_filter else ''}>{as_html(text)}</th>"
