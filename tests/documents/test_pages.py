"""The pages as a reader meets them: in the site's navigation, in short sentences, and as their sources have them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from documents.pages import NAMES, PAGES, ROOT, words_of_sentences

LONGEST_MEAN, LONG, MOST_LONG_PERCENT = 20, 30, 10


def pages_of(navigation: list[object]) -> list[str]:
    """The pages of a navigation, at any depth."""
    found: list[str] = []
    for entry in navigation:
        assert isinstance(entry, dict)
        for below in entry.values():
            found += [below] if isinstance(below, str) else pages_of(below)
    return found


def test_the_site_leads_to_every_page() -> None:
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    rules = (ROOT / "docs" / "rules" / "index.md").read_text()
    listed = [f"docs/rules/{page}" for page in re.findall(r"\]\((RLS\d+\.md)\)", rules)]
    assert sorted([*pages_of(navigation), *listed]) == sorted(NAMES)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_page_has_a_title_and_begins_with_a_paragraph(page: Path) -> None:
    title, _, text = page.read_text().partition("\n\n")
    assert title.startswith("# ") and "\n" not in title
    assert not text.startswith(("#", "|", "```", "-", "!", "<")), "expected a paragraph under the title"


@pytest.mark.parametrize("name", sorted({*NAMES} - {"CHANGELOG.md"}))
def test_the_sentences_of_a_page_are_short(name: str) -> None:
    words = words_of_sentences((ROOT / name).read_text())
    assert sum(words) <= LONGEST_MEAN * len(words)
    assert 100 * sum(number > LONG for number in words) <= MOST_LONG_PERCENT * len(words)


def test_pages_about_studies_are_what_the_studies_say() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "artifact_page.py"), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
