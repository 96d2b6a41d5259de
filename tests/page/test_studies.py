"""The pages of case studies: verdicts are filtered and sorted by mouse and by keys, and everybody can read them."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from study_pages import CLAIMS, SUBJECTS, verdicts, write_index, write_study

from experiments.verdicts.claims import DIFFERS

ROWS = "[role=region][aria-label=Verdicts] tbody tr"
LINES = "[data-verdict]:visible"
CARDS = ".card:visible"
WRITERS = {"study": write_study, "index": write_index}


def claims_of(page: Any) -> list[str]:
    return page.locator(f"{ROWS} td:nth-child(3)").all_inner_texts()


def test_verdicts_are_filtered_with_the_mouse(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(write_study(tmp_path / "study"))
    assert len(claims_of(page)) == len(verdicts())
    page.get_by_label("verdict", exact=True).select_option(DIFFERS)
    assert claims_of(page) == ["A-2", "A-2"]
    assert page.get_by_role("status").inner_text() == "2 of 8 verdicts"
    page.get_by_label("subject").select_option(SUBJECTS[1])
    assert claims_of(page) == ["A-2"]
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("hardware").select_option("gpu")
    assert claims_of(page) == ["G-1", "G-1"]


def test_verdicts_are_filtered_with_keys(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(write_study(tmp_path / "study"))
    page.keyboard.press("/")
    page.keyboard.type("of a-10")
    assert claims_of(page) == ["A-10", "A-10"]
    page.keyboard.press("Tab")  # to the verdict
    page.keyboard.type("holds")
    assert claims_of(page) == []
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Escape")
    assert claims_of(page) == ["A-1", "A-1"]


def test_an_address_filters_the_same(tmp_path: Path, show: Callable[..., Any]) -> None:
    path = write_study(tmp_path / "study")
    page = show(path)
    page.get_by_label("claim", exact=True).select_option("A-10")
    again = show(path, "#" + page.url.split("#")[1])
    assert claims_of(again) == ["A-10", "A-10"]
    assert len(claims_of(show(path, "#claim=nobody&x=%3Cimg%3E"))) == len(verdicts())


def test_verdicts_are_sorted_by_what_their_names_count(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(write_study(tmp_path / "study"))
    head = page.get_by_role("button", name="claim")
    head.focus()
    page.keyboard.press("Enter")
    assert list(dict.fromkeys(claims_of(page))) == sorted(CLAIMS, key=lambda name: (name[0], int(name[2:])))
    head.click()
    assert claims_of(page)[0] == "G-1"


def test_what_is_chosen_is_saved(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(write_study(tmp_path / "study"))
    page.get_by_label("verdict", exact=True).select_option(DIFFERS)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save CSV").last.click()
    saved = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [(row["claim"], row["subject"]) for row in saved] == [("A-2", subject) for subject in SUBJECTS]


def test_a_figure_beside_a_verdict_is_seen_and_leads_to_the_whole(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(write_study(tmp_path / "study"))
    pictures = page.locator(f"{ROWS} img")
    assert pictures.count() == len(verdicts())
    pictures.first.scroll_into_view_if_needed()
    page.wait_for_function("(image) => image.naturalWidth > 0", arg=pictures.first.element_handle())
    pictures.first.click()
    assert page.url.endswith("#fig_time")
    assert page.locator("figure#fig_time").bounding_box()["y"] < page.viewport_size["height"]


def test_the_gallery_is_filtered_with_the_mouse(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(write_index(tmp_path))
    assert page.locator(CARDS).count() == 2 and page.get_by_text("Not drawn yet.").is_visible()
    page.get_by_label("claim", exact=True).select_option("A-2")
    assert page.locator(CARDS).count() == 1 and page.locator(LINES).count() == 2
    assert not page.get_by_text("Not drawn yet.").is_visible()
    page.get_by_label("claim", exact=True).select_option("A-10")
    assert page.locator(CARDS).count() == 2 and page.locator(LINES).count() == 2  # unfolded
    page.get_by_role("button", name="Clear").click()
    assert page.locator(CARDS).count() == 2 and page.get_by_text("Not drawn yet.").is_visible()
    assert set(page.locator(LINES).evaluate_all("(lines) => lines.map((line) => line.dataset.verdict)")) == {DIFFERS}


def test_the_gallery_is_filtered_with_keys(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(write_index(tmp_path))
    page.keyboard.press("/")
    page.keyboard.type("statement of g-1")
    assert page.locator(LINES).count() == 2
    page.keyboard.press("Escape")
    for _ in range(4):  # study, claim, hardware, verdict
        page.keyboard.press("Tab")
    page.keyboard.type("und")
    assert page.locator(LINES).evaluate_all("(lines) => lines.map((line) => line.dataset.claim)") == ["A-10", "A-10"]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(kind: str, scheme: str, tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(WRITERS[kind](tmp_path / "page" if kind == "study" else tmp_path), color_scheme=scheme)
    for fold in page.locator("summary").all():
        fold.click()
    found = Axe().run(page).response["violations"]
    assert not [
        (each["id"], [node["html"] for node in each["nodes"]][:3])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("has_script", [True, False])
def test_everything_is_read_on_a_phone_and_without_a_script(
    kind: str, has_script: bool, tmp_path: Path, show: Callable[..., Any]
) -> None:
    path = WRITERS[kind](tmp_path / "page" if kind == "study" else tmp_path)
    page = show(path, viewport={"width": 400, "height": 800}, java_script_enabled=has_script)
    if has_script:
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        wide = "(parts) => parts.filter((part) => part.scrollWidth > part.clientWidth).length"
        of_verdicts = page.locator(".scroll:has(.thumbnail)")
        assert of_verdicts.evaluate_all(wide) == 0, "a table of verdicts has to be scrolled sideways"
    if kind == "index":
        for fold in page.locator("summary").all():
            fold.click()
    shown = page.locator("main").inner_text()
    for verdict in verdicts():
        assert verdict.claim.statement in shown and verdict.subject in shown and verdict.text in shown
    assert page.locator("img[src=x]").count() == 0
