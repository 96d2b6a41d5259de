"""Puts the page together: its modules, its style, the part that needs no script, and the data."""

import base64
import hashlib
import re
from collections.abc import Mapping
from importlib import resources

from rlscope.text import as_html

#: In the order in which they are joined: each imports only from those before it.
MODULES = (
    "container", "format", "elements", "table", "sums", "colours", "state", "columns", "exact", "part", "breakdown",
    "iterations", "timeline", "panels", "search", "main",
)  # fmt: skip
#: The forms of import and export that are taken out; no others are used.
IMPORT = re.compile(r'^import \{[^}]+\} from "\./([a-z]+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(async )?(function|const|class) )", re.MULTILINE)


def script() -> str:
    """Return all modules as one script, in which nothing is visible from outside."""
    web = resources.files("rlscope.page") / "web"
    parts = [EXPORT.sub("", IMPORT.sub("", (web / f"{name}.js").read_text(encoding="utf-8"))) for name in MODULES]
    return '"use strict";\n{\n' + "".join(parts) + "}\n"


def style() -> str:
    """Return the style of the page."""
    return (resources.files("rlscope.page") / "web" / "page.css").read_text(encoding="utf-8")


def page(title: str, links: Mapping[str, str], static: str, footer: str, data: str) -> str:
    """Make the page.

    Nothing is loaded from anywhere, and no script runs but the page's own, whose hash its policy names.

    Args:
        title: plain text.
        links: addresses beside the page, by what to call them.
        static: HTML above the panels, which is shown without a script, too.
        footer: HTML below them.
        data: what `rlscope.page.container.pack` returned.
    """
    code, look = script(), style()
    policy = (
        f"default-src 'none'; script-src '{digest(code)}'; style-src '{digest(look)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    sections = "".join(
        f'<section aria-labelledby="{name}-title"><h2 id="{name}-title">{heading}</h2><div id="{name}"></div></section>'
        for name, heading in (
            ("breakdown", "Where the time went"),
            ("iterations", "Iterations"),
            ("timeline", "Timeline"),
            ("tables", "Tables"),
        )
    )
    beside = "".join(f'<a href="{as_html(target)}">{as_html(text)}</a>' for text, target in links.items())
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{as_html(title)}</title>\n'
        f"<style>{look}</style>\n</head>\n<body>\n<header><h1>{as_html(title)}</h1>{beside}<span id='traces'></span>"
        f"<span id='buttons'></span><span id='search'></span></header>\n<main>\n{static}\n{sections}\n"
        f'<p class="narrow">The timeline needs 600 pixels.</p></main>\n<footer>{footer}</footer>\n'
        f'<script type="application/octet-stream" id="data">{data}</script>\n<script>{code}</script>\n'
        "</body>\n</html>\n"
    )


def digest(text: str) -> str:
    """Return what a policy calls a script or a style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
