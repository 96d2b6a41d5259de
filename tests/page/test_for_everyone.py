"""The page serves people who see no colours, hear it, use keys, print it, hold a phone, or run no script."""

import re
import subprocess
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_colours import colours_of, light_of
from page_traces import page_of, training
from trace_builder import write_scripts

from rlscope.model import CATEGORIES, GPU_ONLY

LAYERS = (*CATEGORIES, GPU_ONLY)
OTHER_SCHEME = {"light": "dark", "dark": "light"}
LEAST_CONTRAST, LEAST_DISTANCE = 3.0, 15.0
#: What is left of red, green and blue light for people who lack one kind of cone (Viénot, Brettel and Mollon).
DEFICIENCIES = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.1124, 0.8876, 0), (0.1124, 0.8876, 0), (0.004, -0.004, 1)),
    "deutan": ((0.2927, 0.7073, 0), (0.2927, 0.7073, 0), (-0.0223, 0.0223, 1)),
    "tritan": ((1, 0.1274, -0.1274), (0, 0.8739, 0.1261), (0, 0.8739, 0.1261)),
}


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(write_scripts([training(20, 7, device=True)], tmp_path_factory.mktemp("some") / "trace"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(scheme: str, html: str, show: Callable[..., Any]) -> None:
    page = show(html, color_scheme=scheme)
    page.locator("#breakdown .name").first.click()
    page.locator("#timeline button:text('Numbers')").click()
    found = Axe().run(page).response["violations"]
    serious = [
        (each["id"], [node["html"] for node in each["nodes"]][:3])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert not serious


def test_every_control_has_a_name(html: str, show: Callable[..., Any]) -> None:
    lines = show(html).locator("body").aria_snapshot().splitlines()
    controls = [line for line in lines if re.match(r"\s*- (button|combobox|searchbox|spinbutton|img|tab|link)\b", line)]
    assert len(controls) > 20
    assert not [line for line in controls if '"' not in line]


def linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def lab(light: tuple[float, ...]) -> tuple[float, float, float]:
    """CIE L*a*b* under D65."""
    red, green, blue = (min(max(value, 0.0), 1.0) for value in light)
    xyz = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
    )
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("is_chosen", [False, True])
@pytest.mark.parametrize("scheme", OTHER_SCHEME)
def test_layers_are_told_apart_by_everyone(scheme: str, is_chosen: bool, html: str, show: Callable[..., Any]) -> None:
    """The colours are those of the machine, or those of a key where the machine has the others."""
    page = show(html, color_scheme=OTHER_SCHEME[scheme] if is_chosen else scheme)
    if is_chosen:
        page.keyboard.press("d")
    shown = colours_of(page, *LAYERS, "page")
    colours = {name: tuple(linear(part / 255) for part in light_of(colour)) for name, colour in shown.items()}
    assert (sum(colours["page"]) > 1.5) == (scheme == "light")

    def luminance(light: tuple[float, ...]) -> float:
        return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), light, strict=True))

    for name in LAYERS:
        high, low = sorted((luminance(colours[name]), luminance(colours["page"])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= LEAST_CONTRAST, name
    for kind, matrix in DEFICIENCIES.items():
        seen = {
            name: lab(tuple(sum(a * b for a, b in zip(row, colours[name], strict=True)) for row in matrix))
            for name in LAYERS
        }
        for one, other in combinations(LAYERS, 2):
            distance = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True)) ** 0.5
            assert distance >= LEAST_DISTANCE, (kind, one, other, distance)


#: Without and with a script, on paper and on a phone: where the time went, from the first cause to the last.
ACCOUNT = (
    "1.36 s, 1 process, 20 iterations",
    "update, PyTorch 641 ms 47 %",
    "simulation, Python 40 ms 2.9 %",
    "afterwards 1 ms 0.1 %",
)
BREAKDOWN = (
    "simulation 440 ms 32 %",
    "inference 242 ms 18 %",
    "backpropagation 681 ms 50 %",
    "afterwards 1 ms 0.1 %",
)
#: Of the legend, the timeline and a table: buttons are words on paper.
PRINTED = ("python 121 ms", "whole run", "main data_collection", "process role pid", "main main 1 true")


def assert_holds(text: str, *lines: str) -> None:
    """A line's words stand one behind the other, with or without room between them."""
    words = "".join(text.split())
    assert not [line for line in lines if line.replace(" ", "") not in words], words


def test_without_a_script_the_breakdown_is_a_table(html: str, show: Callable[..., Any]) -> None:
    page = show(html, java_script_enabled=False)
    table = ("backpropagation backend 0.641 47 %", "afterwards python 0.001 0.1 %", "main main 1.36")
    assert_holds(page.locator("main").inner_text(), *ACCOUNT, *table)


def test_printed_it_has_account_and_breakdown(html: str, show: Callable[..., Any], tmp_path: Path) -> None:
    page = show(html)
    page.pdf(path=tmp_path / "page.pdf")
    printed = subprocess.run(
        ["pdftotext", "-layout", tmp_path / "page.pdf", "-"], capture_output=True, text=True, check=True
    ).stdout
    assert_holds(printed, *ACCOUNT, *BREAKDOWN, *PRINTED)
    for control in ("Dark or light", "Save CSV", "Zoom", "Transitions"):
        assert control not in printed


def test_on_a_phone_nothing_is_wider_than_the_screen(html: str, show: Callable[..., Any]) -> None:
    page = show(html, viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert_holds(page.locator("main").inner_text(), *ACCOUNT, *BREAKDOWN, "The timeline needs 600 pixels")


CHOICE = "#breakdown select"
#: Whatever draws itself anew when it is pressed, besides this choice of a process.
REDRAWN = (
    "#buttons button:first-child",
    "#breakdown > .tools button",
    "#breakdown > .legend button",
    "#breakdown .tree > li > .row button",
    "#timeline > .tools button",
    "#timeline .labels button",
)


def test_what_is_pressed_keeps_the_focus(html: str, show: Callable[..., Any]) -> None:
    page = show(html)

    def has_focus(selector: str, number: int = 0) -> bool:
        """In one step: when the view rests the timeline's tools are made anew."""
        found = page.evaluate(
            "([selector, number]) => document.querySelectorAll(selector)[number] === document.activeElement",
            [selector, number],
        )
        return bool(found)

    for selector in REDRAWN:
        controls = page.locator(selector).all()
        assert controls, selector
        for number, control in enumerate(controls):
            control.press("Enter")
            assert has_focus(selector, number), (selector, control.inner_text())
    page.locator(CHOICE).focus()
    page.locator(CHOICE).select_option("all processes")  # instead of the one that was pressed beside the timeline
    assert has_focus(CHOICE)
    page.locator("#timeline button:text('Numbers')").press("Enter")
    page.locator(".selection button:text('Close')").press("Enter")
    assert has_focus("canvas.timeline")
    page.keyboard.press("/")
    page.keyboard.type("torch")
    page.locator("#search li button").first.press("Enter")
    assert has_focus("#search input")


def test_moving_in_the_timeline_makes_nothing_anew_but_the_timeline(html: str, show: Callable[..., Any]) -> None:
    page = show(html)
    page.locator("#breakdown .name").first.focus()
    written = page.evaluate("""async () => {
      let written = 0;
      history.replaceState = () => written++;
      const canvas = document.querySelector("canvas.timeline");
      const key = (move) => new KeyboardEvent("keydown", { key: move % 2 ? "-" : "+" });
      for (let move = 0; move < 300; move++) canvas.dispatchEvent(key(move));
      await new Promise((done) => setTimeout(done, 250));
      return written;
    }""")
    assert written == 1, "browsers refuse to write the address hundreds of times in a few seconds"
    assert page.evaluate("document.activeElement.className") == "name", "the row of the breakdown is another one now"
