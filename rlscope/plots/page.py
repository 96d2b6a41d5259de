"""This file makes a plain HTML page of figures, tables and remarks, without script and network."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from rlscope.plots.style import save_figure
from rlscope.plots.tables import cell_text, write_csv
from rlscope.text import as_html

FIGURE_FORMATS = ("pdf", "svg", "png")
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
figure { margin: 1rem 0; } figure img { max-width: 100%; } figcaption { color: #555; font-size: 13px; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; }
td, th { padding: 0.2rem 0.7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top;
  white-space: pre-wrap; }
.warning { background: #fff3cd; border-left: 4px solid #e0a800; padding: 0.5rem 1rem; }
code { background: #f4f4f4; padding: 0 0.2rem; }
"""


def write_figure(figure: Figure, table: pd.DataFrame, stem: Path) -> None:
    """Write a figure in every format, and the numbers that it shows: `stem` is the path without a suffix."""
    for kind in FIGURE_FORMATS:
        save_figure(figure, stem.with_name(f"{stem.name}.{kind}"))
    write_csv(table, stem.with_name(f"{stem.name}.csv"))


class Page:
    """Collects the parts of a page from top to bottom."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts = [f"<h1>{as_html(title)}</h1>"]

    def heading(self, text: str) -> None:
        """Start a section."""
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
            f'<figure><a href="{file}.svg"><img src="{file}.png" alt="{said}" width="640">'
            f"</a><figcaption>{said} {links}</figcaption></figure>"
        )

    def table(self, table: pd.DataFrame) -> None:
        """Show a table with four significant digits."""
        heads = "".join(f"<th>{as_html(str(column))}</th>" for column in table.columns)
        rows = (
            "<tr>" + "".join(f"<td>{as_html(cell_text(value))}</td>" for value in row) + "</tr>"
            for row in table.itertuples(index=False)
        )
        self._parts.append(
            f'<div class="table"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        )

    def link(self, target: str, text: str) -> None:
        """Add a link on a line of its own."""
        self._parts.append(f'<p><a href="{as_html(target)}">{as_html(text)}</a></p>')

    def write(self, path: Path) -> None:
        """Write the page."""
        head = (
            f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{as_html(self._title)}</title><style>{STYLE}</style>"
        )
        body = "\n".join(self._parts)
        path.write_text(
            f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n', encoding="utf-8"
        )
