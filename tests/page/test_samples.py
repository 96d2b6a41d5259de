"""Samples of rollouts in the timeline: a track each, where it was in the queue, which were discarded, and the tails."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_colours import colours_of
from page_traces import MS, page_of
from trace_builder import End, ProcessScript, Progress, Sample, ThreadScript, operation, write_scripts

LENGTH_MS = 1000
#: Begin, end and queue in milliseconds, version, tokens, whether it is discarded; nine of ten end before the tail.
MADE = [(100, 300 + 10 * number, 50 * (number % 2), number % 3, 10 + number, number == 4) for number in range(9)]
MADE.append((200, 900, 0, 1, 99, False))
#: One more begins when the first lane is free.
MADE.append((950, 1000, 0, 3, 7, False))
LANES, LANE, AXIS = 10, 5, 18
PIXEL = """([x, y]) => {
  const canvas = document.querySelector('canvas.timeline');
  const data = canvas.getContext('2d').getImageData(x, y, 1, 1).data;
  return '#' + Array.from(data.slice(0, 3), (part) => part.toString(16).padStart(2, '0')).join('');
}"""
VERSIONS = ("backend", "simulator", "python", "cuda")


def rollouts() -> ProcessScript:
    thread = ThreadScript(0, 0)
    thread.statements += [operation(0, "training_loop"), Progress(0, 0, 0)]
    for begin, end, queue, version, tokens, discarded in sorted(MADE, key=lambda sample: sample[1]):
        times = (end - begin) * MS, (end - begin - queue) * MS
        thread.statements.append(Sample(end * MS, "math", version, tokens, times, discarded))
        if end == 900:
            thread.statements.append(Progress(920 * MS, 1, 0))
    thread.statements.append(End(LENGTH_MS * MS))
    return ProcessScript(0, LENGTH_MS * MS, threads=[thread])


@pytest.fixture
def page(tmp_path: Path, show: Callable[..., Any]) -> Any:
    return show(page_of(write_scripts([rollouts()], tmp_path / "trace")))


def colour_at(page: Any, milliseconds: float, lane: int) -> str:
    """The colour of a lane at a time, in the middle of a pixel."""
    top = page.eval_on_selector(".labels li.samples", "(item) => parseInt(item.style.top)")
    width = page.eval_on_selector("canvas.timeline", "(canvas) => canvas.width")
    found: str = page.evaluate(PIXEL, [int(milliseconds / LENGTH_MS * width), top + lane * LANE + 1])
    return found


def test_each_sample_has_a_track(page: Any) -> None:
    known = colours_of(page, *VERSIONS, "wait", "warn", "line")
    for lane, (begin, end, queue, version, _, discarded) in enumerate(MADE[:LANES]):
        own = known["warn"] if discarded else known[VERSIONS[version]]
        assert colour_at(page, begin + queue + 20, lane) == own
        assert colour_at(page, end - 20, lane) == own
        assert colour_at(page, begin + 20, lane) == (known["wait"] if queue else own)
        assert colour_at(page, begin - 20, lane) not in known.values()
    assert colour_at(page, 975, 0) == known["cuda"]


def test_the_tail_is_shaded(page: Any) -> None:
    """90 % of the first iteration's ten samples are complete at 380 ms, and all at 900 ms."""
    line = colours_of(page, "line")["line"]
    assert [colour_at(page, milliseconds, 1) == line for milliseconds in (345, 400, 890, 910)] == [
        False, True, True, False,
    ]  # fmt: skip


def test_a_click_shows_a_sample(page: Any) -> None:
    top = page.eval_on_selector(".labels li.samples", "(item) => parseInt(item.style.top)")
    canvas = page.locator("canvas.timeline")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.2, box["y"] + top + 4 * LANE + 2)
    row = page.locator(".selection tbody tr").all_inner_texts()
    assert [text.split("\t") for text in row] == [
        ["math", page.locator(".labels li button").first.inner_text(), *"100 ms|240 ms|0 s|1|1|14|yes".split("|")]
    ]
    page.mouse.click(box["x"] + box["width"] * 0.2, box["y"] + AXIS + 2)
    assert "from 0.2" in page.locator(".selection caption").first.inner_text()


def test_the_tables_of_samples_lead_to_the_timeline(page: Any) -> None:
    page.get_by_role("tab", name="Samples").click()
    captions = page.locator("#tables caption").all_inner_texts()
    assert captions[0] == "Samples by name" and captions[1].startswith("Tails") and captions[2] == "Each sample"
    each = page.locator("#tables table").nth(2)
    assert each.locator("tbody tr").count() == len(MADE)
    assert "700 ms" in each.locator("tbody tr").first.inner_text()
    each.locator("tbody button").nth(1).click()  # from 100 to 380 ms
    assert "0.03 to 0.45 s" in page.locator("#timeline .tools").first.inner_text()
