"""Puts pages together: their modules, their style, what needs no script, and the data."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib import resources

from rlscope.outputs import MARK
from rlscope.page.vocabulary import category_styles, vocabulary_script
from rlscope.text import as_html

#: Of the page of a trace, in the order in which they are joined: each imports only from those before it.
MODULES = (
    "container", "format", "elements", "table", "sums", "vocabulary", "colours", "state", "columns", "exact", "part",
    "phases", "samples", "breakdown", "lengths", "iterations", "timeline", "keys", "flames", "lines", "panels",
    "search", "main",
)  # fmt: skip
#: Of a page of figures and tables, likewise.
PLAIN_MODULES = ("format", "elements", "filters", "keys", "table", "plain")
#: The forms of import and export that are taken out; no others are used.
IMPORT = re.compile(r'^import \{[^}]+\} from "\./([a-z]+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(async )?(function|const|class) )", re.MULTILINE)


def script(modules: Sequence[str]) -> str:
    """Return these modules as one script, in which nothing is visible from outside."""
    web = resources.files("rlscope.page") / "web"
    texts = (
        vocabulary_script() if name == "vocabulary" else (web / f"{name}.js").read_text(encoding="utf-8")
        for name in modules
    )
    parts = [EXPORT.sub("", IMPORT.sub("", text)) for text in texts]
    return '"use strict";\n{\n' + "".join(parts) + "}\n"


def style() -> str:
    """Return the style of the page."""
    look = resources.files("rlscope.page") / "web" / "page.css"
    return look.read_text(encoding="utf-8") + category_styles()


def page(title: str, links: Mapping[str, str], static: str, footer: str, data: str) -> str:
    """Make the page of traces.

    Args:
        title: plain text.
        links: addresses beside the page, by what to call them.
        static: HTML above the panels, which is shown without a script, too.
        footer: HTML below them.
        data: what `rlscope.page.container.pack` returned.
    """
    sections = "".join(
        f'<section aria-labelledby="{name}-title"><h2 id="{name}-title">{heading}</h2><div id="{name}"></div></section>'
        for name, heading in (
            ("breakdown", "Stage by stage"),
            ("iterations", "Iterations"),
            ("timeline", "Timeline"),
            ("tables", "Tables"),
        )
    )
    beside = "".join(f'<a href="{as_html(target)}">{as_html(text)}</a>' for text, target in links.items())
    return document(
        title,
        header=f"{beside}<span id='traces'></span><span id='buttons'></span><span id='search'></span>",
        main=f'{static}\n{sections}\n<p class="narrow">The timeline needs 600 pixels.</p>',
        footer=f'<footer>{footer}</footer>\n<script type="application/octet-stream" id="data">{data}</script>\n',
        code=script(MODULES),
    )


def document(title: str, header: str, main: str, footer: str, code: str, images: str = "data: blob:") -> str:
    """Make a page.

    Nothing is loaded but the images, and no script runs but the page's own, whose hash its policy names.

    Args:
        title: plain text.
        header: HTML beside the title.
        main: HTML.
        footer: HTML below it.
        code: the script.
        images: where the policy allows images to come from.
    """
    look = style()
    policy = (
        f"default-src 'none'; script-src '{digest(code)}'; style-src '{digest(look)}'; img-src {images}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="generator" content="{MARK}">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{as_html(title)}</title>\n'
        f"<style>{look}</style>\n</head>\n<body>\n<header><h1>{as_html(title)}</h1>{header}</header>\n"
        f"<main>\n{main}\n</main>\n{footer}<script>{code}</script>\n</body>\n</html>\n"
    )


def digest(text: str) -> str:
    """Return what a policy calls a script or a style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
