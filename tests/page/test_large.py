"""Large runs: all of many processes are scrolled to, and iterations in groups say what they stand for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_colours import colours_of
from page_traces import page_of, training, workers
from trace_builder import write_scripts

from rlscope.page import iterations

PROCESSES = 100
#: The colour in the middle of the row under the pointer, and whether anything is drawn there.
PIXEL = """([x, y]) => {
  const canvas = document.querySelector('canvas.timeline');
  return Array.from(canvas.getContext('2d').getImageData(x, y, 1, 1).data);
}"""


def test_the_last_of_many_processes_is_scrolled_to_and_chosen(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(page_of(write_scripts(workers(PROCESSES), tmp_path / "trace")))
    canvas, rows = page.locator("canvas.timeline"), page.locator("#timeline .rows")
    assert canvas.evaluate("(canvas) => canvas.clientHeight") <= page.viewport_size["height"]
    labels = page.locator("#timeline .labels li")
    assert labels.count() == PROCESSES
    rows.scroll_into_view_if_needed()
    rows.evaluate("(rows) => (rows.scrollTop = rows.scrollHeight)")
    page.wait_for_timeout(200)
    box, label = canvas.bounding_box(), labels.nth(PROCESSES - 1).bounding_box()
    y = label["y"] - box["y"] + 12
    assert 0 < y < box["height"]
    red, green, blue, _ = page.evaluate(PIXEL, [int(box["width"]) - 3, int(y)])
    assert f"#{red:02x}{green:02x}{blue:02x}" == colours_of(page, "backend")["backend"]
    page.mouse.move(box["x"] + box["width"] * 0.995, box["y"] + y)
    page.mouse.down()
    page.mouse.up()
    name = labels.nth(PROCESSES - 1).inner_text()
    assert page.locator(".selection caption").first.inner_text().startswith(f"{name} from ")


def test_arrows_scroll_to_the_row_that_they_choose(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(page_of(write_scripts(workers(PROCESSES), tmp_path / "trace")))
    page.locator("canvas.timeline").focus()
    for _ in range(PROCESSES):
        page.keyboard.press("ArrowDown")
    rows, label = page.locator("#timeline .rows").bounding_box(), page.locator(".labels li").last.bounding_box()
    assert rows["y"] < label["y"] < rows["y"] + rows["height"]


def test_groups_of_iterations_say_what_they_stand_for(
    tmp_path: Path, show: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each iteration takes 66 ms, and the slow one 109 ms; it alone is known singly."""
    monkeypatch.setattr(iterations, "MOST_LENGTHS", 16)
    monkeypatch.setattr(iterations, "MOST_ENTRIES", 12)
    monkeypatch.setattr(iterations, "SLOWEST", 1)
    page = show(page_of(write_scripts([training(60, 41)], tmp_path / "trace")))
    assert "in groups of 4" in page.locator("#iterations").inner_text()
    assert "Iteration 41 took 109 ms" in page.locator("#iterations .why").inner_text()
    page.get_by_label("Number of an iteration").fill("42")
    page.keyboard.press("Enter")
    said = page.locator("#iterations .why").inner_text()
    assert "is in a group, 40 to 43, which took 307 ms together: from 66 ms to 109 ms each" in said
    page.locator("#iterations button:text('Show it in the timeline')").click()
    assert "2.625 to 2.962 s" in page.locator("#timeline .tools").first.inner_text()


def test_a_move_reads_no_text_of_the_whole_page(tmp_path: Path, show: Callable[..., Any]) -> None:
    """With the focus on nothing, the text of all parts was read for each control that was drawn anew."""
    page = show(page_of(write_scripts(workers(2), tmp_path / "trace")))
    page.evaluate(
        """() => {
          const text = Object.getOwnPropertyDescriptor(Node.prototype, 'textContent');
          window.readOf = [];
          Object.defineProperty(Node.prototype, 'textContent', {
            ...text,
            get() {
              window.readOf.push(this.nodeName);
              return text.get.call(this);
            },
          });
        }"""
    )
    before = page.locator("#timeline .tools").first.inner_text()
    canvas = page.locator("canvas.timeline")
    canvas.evaluate(
        "(canvas) => canvas.dispatchEvent(new WheelEvent('wheel', { ctrlKey: true, deltaY: -1, cancelable: true }))"
    )
    page.wait_for_function("(before) => document.querySelector('#timeline .tools').innerText !== before", arg=before)
    assert "BODY" not in page.evaluate("window.readOf")
