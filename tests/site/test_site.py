"""The built site: it loads nothing from a network, and every link inside of it leads somewhere."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).resolve().parents[2] / "build" / "site" / "html"
PAGES = sorted(SITE.rglob("*.html"))


class Links(HTMLParser):
    """Collects what a page leads to, what it loads, and the places in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.leads_to: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and name == "id":
                self.places.add(value)
            elif value and name in ("href", "src", "srcset", "data", "poster"):
                (self.leads_to if tag == "a" else self.loads).append(value)


def test_the_site_has_its_pages() -> None:
    assert {SITE / "index.html", SITE / "docs" / "example_report" / "index.html"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_a_page_loads_nothing_from_a_network(page: Path) -> None:
    assert not [address for address in Links(page).loads if urlsplit(address).netloc]


@pytest.mark.parametrize("sheet", sorted(SITE.rglob("*.css")), ids=lambda sheet: sheet.name)
def test_a_style_sheet_loads_nothing_from_a_network(sheet: Path) -> None:
    text = "".join(sheet.read_text().split()).replace('"', "").replace("'", "")
    assert not [start for start in ("url(http", "url(//", "@importhttp") if start in text]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_links_inside_of_the_site_lead_somewhere(page: Path) -> None:
    links = Links(page)
    for address in [*links.leads_to, *links.loads]:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or page.name == "404.html":
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        target = target / "index.html" if target.is_dir() else target
        assert target.is_file(), address
        if parts.fragment and target.suffix == ".html":
            assert unquote(parts.fragment) in Links(target).places, address
