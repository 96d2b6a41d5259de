"""What the page shows is exact: pixels, sums and events equal those of the slow twin of the sweep."""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_colours import colours_of, light_of
from page_traces import MS, page_of, training, walk
from trace_builder import End, ProcessScript, ThreadScript, operation, phase, write_scripts
from twin_detail import DetailTwin, events_of

from benchmarks.synthetic import TICKS_PER_13, write_trace
from rlscope.model import CATEGORIES, GPU_ONLY
from rlscope.page.grid import bins_for
from rlscope.page.trace_data import MIDDLE

LENGTH = 4_000_000
SCRIPTS = [walk(1, 400, 0, LENGTH), walk(2, 300, 700, LENGTH - 9_000), walk(3, 300, 1_000_000, LENGTH // 3)]
LENGTH_S = LENGTH / 1e9
ZOOMS = [(0.0, 1.0), (0.25, 0.75), (0.4, 0.45), (0.5, 0.502), (0.7, 0.7001)]
ROW = 24
PIXELS = """([top, height]) => {
  const canvas = document.querySelector('canvas.timeline');
  return Array.from(canvas.getContext('2d').getImageData(0, top, canvas.width, height).data);
}"""
#: Where the pointer was pressed and moved to, in pixels of the canvas.
NOTE_POINTER = """() => {
  window.places = [];
  const canvas = document.querySelector('canvas.timeline');
  canvas.addEventListener('pointerdown', (event) => window.places.push(event.offsetX));
  canvas.addEventListener('pointermove', (event) => window.places.length && window.places.push(event.offsetX));
}"""
LAYERS = (*CATEGORIES, GPU_ONLY)


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(write_scripts(SCRIPTS, tmp_path_factory.mktemp("three") / "trace"))


class Grid:
    """The bins of a process, and which of them a time lies in, by the rule that docs/page.md states."""

    def __init__(self, script: ProcessScript, processes: int) -> None:
        assert script.stop is not None
        self.start, self.start_s = script.start, script.start / 1e9
        self.length_s = script.stop / 1e9 - self.start_s
        self.count = bins_for(processes)
        self.width = max(-(-(script.stop - script.start) // self.count), 1)

    def bin_at(self, seconds: float) -> int:
        return min(max(math.floor((seconds - self.start_s) / 1e-9 / self.width), 0), self.count)

    def columns(self, view: tuple[float, float], width: int) -> list[tuple[int, int] | None]:
        """The ticks of each column of pixels: from where to where; None outside the life of the process."""
        found: list[tuple[int, int] | None] = []
        for x in range(width):
            start, end = (view[0] + (view[1] - view[0]) * at / width for at in (x, x + 1))
            if end <= self.start_s or start >= self.start_s + self.length_s:
                found.append(None)
                continue
            first = min(self.bin_at(start), self.count - 1)
            found.append((first, max(self.bin_at(end), first + 1)))
        return [part and (self.start + part[0] * self.width, self.start + part[1] * self.width) for part in found]


def ticks_of(script: ProcessScript, spans: list[tuple[int, int]]) -> list[Counter[tuple[str, ...]]]:
    """What the twin finds between two times each, by stage, operation, category and resource."""
    borders = sorted({script.start, *(tick for span in spans for tick in span)})
    twin = DetailTwin(script, borders)
    sums: dict[int, Counter[tuple[str, ...]]] = {}
    for (number, series), ticks in twin.bins.items():
        sums.setdefault(number, Counter())[series] += ticks
    found = []
    for start, end in spans:
        numbers = range(borders.index(start) + 1, borders.index(end) + 1)
        found.append(sum((sums.get(number, Counter()) for number in numbers), Counter()))
    return found


def painted(shares: dict[str, float], colours: dict[str, list[int]], height: int = ROW) -> list[list[float]]:
    """The pixels of a column from the bottom up: colours in alphabetical order, as high as their shares."""
    pixels = [[0.0, 0.0, 0.0] for _ in range(height)]
    at = 0.0
    for name in sorted(shares):
        end = at + shares[name] * height
        for y in range(math.floor(at), min(math.ceil(end), height)):
            part = min(end, y + 1) - max(at, y)
            pixels[y] = [old + new * part for old, new in zip(pixels[y], colours[name], strict=True)]
        at = end
    return pixels


@pytest.mark.parametrize("zoom", ZOOMS, ids=str)
def test_each_column_has_the_colours_of_its_bins(
    zoom: tuple[float, float], html: str, show: Callable[..., Any]
) -> None:
    view = tuple(round(part * LENGTH_S, 9) for part in zoom)
    page = show(html, f"#t={view[0]:.9f}-{view[1]:.9f}")
    colours = {name: light_of(colour) for name, colour in colours_of(page, *LAYERS).items()}
    tops = page.eval_on_selector_all(".labels li", "(items) => items.map((item) => parseInt(item.style.top))")
    width = page.eval_on_selector("canvas.timeline", "(canvas) => canvas.width")
    assert width > 1000
    columns_seen = 0
    for script, top in zip(SCRIPTS, tops, strict=True):
        data = page.evaluate(PIXELS, [top, ROW])
        columns = Grid(script, len(SCRIPTS)).columns((view[0], view[1]), width)
        spans = [span for span in columns if span]
        found = iter(ticks_of(script, spans))
        for x, span in enumerate(columns):
            pixels = [data[(y * width + x) * 4 :][:4] for y in range(ROW)][::-1]
            if span is None:
                assert all(pixel[3] == 0 for pixel in pixels), (script.start, x)
                continue
            by_category: Counter[str] = Counter()
            for (_, _, category, _), ticks in next(found).items():
                by_category[category] += ticks
            total = sum(by_category.values())
            expected = painted({name: ticks / total for name, ticks in by_category.items() if ticks}, colours)
            columns_seen += 1
            for pixel, wanted in zip(pixels, expected, strict=True):
                # Each pixel is rounded once, however many colours meet in it.
                assert all(abs(a - b) < 0.51 for a, b in zip(pixel, wanted, strict=False)), (script.start, x)
    assert columns_seen >= width


#: Phases one after the other, and none at the end; colours go by size.
PHASES = {"collect": (0, 1_000_300), "update": (1_000_300, 3_000_100), "(none)": (3_000_100, LENGTH)}
COLOURS_OF_PHASES = {"update": "python", "collect": "simulator", "(none)": "page"}
PHASE_ROW, NAME_WIDTH = 14, 100


def test_a_row_has_the_exact_shares_of_phases(show: Callable[..., Any], tmp_path: Path) -> None:
    thread = ThreadScript(0, 0)
    for name in ("collect", "update"):
        start, end = PHASES[name]
        thread.statements += [phase(start, name), End(end)]
    script = ProcessScript(0, LENGTH, threads=[thread])
    page = show(page_of(write_scripts([script], tmp_path / "trace")))
    colours = {name: light_of(colour) for name, colour in colours_of(page, *LAYERS).items()}
    colours["page"] = [255, 255, 255]
    expected_colours = {name: colours[colour] for name, colour in COLOURS_OF_PHASES.items()}
    top = page.eval_on_selector(".labels li.phases", "(item) => parseInt(item.style.top)")
    width = page.eval_on_selector("canvas.timeline", "(canvas) => canvas.width")
    data = page.evaluate(PIXELS, [top, PHASE_ROW])
    mixed = 0
    for x, span in enumerate(Grid(script, 1).columns((0.0, LENGTH_S), width)):
        assert span is not None
        start, end = span[0], min(span[1], LENGTH)
        shares = {
            name: (min(end, last) - max(start, first)) / (end - start)
            for name, (first, last) in PHASES.items()
            if min(end, last) > max(start, first)
        }
        begun = max(first for first, _ in PHASES.values() if first <= start)
        if 3 <= x - begun / LENGTH * width < NAME_WIDTH:
            continue  # the phase's name is written there
        mixed += len(shares) > 1
        pixels = [data[(y * width + x) * 4 :][:4] for y in range(PHASE_ROW)][::-1]
        for pixel, wanted in zip(pixels, painted(shares, expected_colours, PHASE_ROW), strict=True):
            assert all(abs(a - b) < 0.51 for a, b in zip(pixel, wanted, strict=False)), (x, shares)
    assert mixed == 2


@pytest.mark.parametrize("row", range(len(SCRIPTS)))
def test_the_table_of_a_dragged_range_is_exact(row: int, html: str, show: Callable[..., Any]) -> None:
    page = show(html)
    canvas = page.locator("canvas.timeline")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    top = page.eval_on_selector_all(".labels li", "(items) => items.map((item) => parseInt(item.style.top))")[row]
    pixels = (box["width"] // 3, box["width"] // 2)
    page.evaluate(NOTE_POINTER)
    page.mouse.move(box["x"] + pixels[0], box["y"] + top + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + pixels[1], box["y"] + top + 5)
    page.mouse.up()
    offsets = page.evaluate("[window.places[0], window.places.at(-1)]")
    width = canvas.evaluate("(canvas) => canvas.clientWidth")
    with page.expect_download() as download:
        page.locator(".selection .table").first.get_by_text("Save CSV").click()
    saved = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    grid = Grid(SCRIPTS[row], len(SCRIPTS))
    start, end = (LENGTH_S * (offset / width) for offset in offsets)
    first = grid.bin_at(start)
    span = (grid.start + first * grid.width, grid.start + max(grid.bin_at(end), first + 1) * grid.width)
    (expected,) = ticks_of(SCRIPTS[row], [span])
    found = {
        tuple(line[name] for name in ("stage", "operation", "layer", "resource")): line["seconds"] for line in saved
    }
    assert {key: round(float(seconds) * 1e9, 6) for key, seconds in found.items()} == dict(+expected)


def test_totals_are_those_of_the_analysis(tmp_path: Path, show: Callable[..., Any]) -> None:
    from click.testing import CliRunner

    from rlscope.cli.analyze import analyze

    trace = write_scripts([training(5)], tmp_path / "trace")
    document = json.loads(CliRunner().invoke(analyze, ["--json", str(trace)], catch_exceptions=False).output)
    sums: Counter[str] = Counter()
    for row in document["breakdown"]:
        sums["afterwards" if row["stage"] == "(none)" else row["stage"]] += row["seconds"]
    page = show(page_of(trace))
    rows = page.locator("#breakdown .tree > li > .row").all_inner_texts()
    shown = {lines[0]: lines[1] for lines in (text.split("\n") for text in rows)}
    assert shown == {name: f"{seconds * 1000:.3g} ms" for name, seconds in sums.items()}
    assert page.get_by_text("in all").first.inner_text() == f"{sum(sums.values()) * 1000:.3g} ms in all"


def test_bars_are_of_the_process_that_paces_and_of_others_on_request(tmp_path: Path, show: Callable[..., Any]) -> None:
    """A worker starts up for 50 ms; of the trainer, which paces, 331 ms are shown at first."""
    worker = ThreadScript(0, 0, [operation(50 * MS, "simulation"), End(60 * MS)])
    scripts = [training(5), ProcessScript(0, 400 * MS, threads=[worker])]
    page = show(page_of(write_scripts(scripts, tmp_path / "trace")))

    def bars() -> dict[str, str]:
        rows = page.locator("#breakdown .tree > li > .row").all_inner_texts()
        return {lines[0]: lines[1] for lines in (text.split("\n") for text in rows)}

    trainer = {"simulation": "110 ms", "inference": "60 ms", "backpropagation": "160 ms", "afterwards": "1 ms"}
    assert bars() == trainer
    page.locator("#breakdown select").select_option("process")
    assert bars() == {"starting up": "50 ms", "simulation": "10 ms", "afterwards": "340 ms"}
    page.locator("#breakdown select").select_option("all processes")
    assert bars() == trainer | {"starting up": "50 ms", "simulation": "120 ms", "afterwards": "341 ms"}
    page.wait_for_url("**#p=")


#: Draws anew, and notes each rectangle and each text with its place and colour.
NOTE_DRAWING = """() => {
  const drawn = [];
  const context = CanvasRenderingContext2D.prototype;
  const { fillRect, fillText } = context;
  context.fillRect = function (...place) { drawn.push([this.fillStyle, ...place]); };
  context.fillText = function (text, x, y) { drawn.push([text, x, y]); };
  dispatchEvent(new Event('resize'));
  Object.assign(context, { fillRect, fillText });
  return drawn;
}"""
LAYER, GAP, SMALLEST_LABEL = 13, 4, 46


def test_each_event_of_a_window_is_drawn(show: Callable[..., Any], tmp_path: Path) -> None:
    """By its start, its end, how deep it lies, what it is, and its name where there is room."""
    script = walk(4, 60, 0, LENGTH)
    page = show(page_of(write_scripts([script], tmp_path / "trace"), (0.0, LENGTH_S)))
    colours = colours_of(page, *LAYERS, "line")
    width = page.eval_on_selector("canvas.timeline", "(canvas) => canvas.width")
    top = page.eval_on_selector(".labels li", "(item) => parseInt(item.style.top)") + ROW + GAP
    rectangles, texts = [], []
    for start, end, kind, name, depth in events_of(script, 0, LENGTH)[0]:
        x, y, long = start / LENGTH * width, top + depth * LAYER, max((end - start) / LENGTH * width, 1)
        rectangles.append([colours["line" if kind == "operation" else kind], x, y, long, LAYER - 1])
        if long >= SMALLEST_LABEL:
            texts.append([name, x + 3, y + LAYER / 2])
    drawn = [each for each in page.evaluate(NOTE_DRAWING) if each[2] >= top]
    assert len(rectangles) > len(texts) > 5
    for found, expected in (
        (sorted(each for each in drawn if len(each) == 5), sorted(rectangles)),
        (sorted([text.rsplit(" ", 2)[0], *place] for text, *place in drawn if not place[2:]), sorted(texts)),
    ):
        assert [each[0] for each in found] == [each[0] for each in expected]
        assert [each[1:] for each in found] == [pytest.approx(each[1:], abs=1e-3) for each in expected]


def test_a_view_of_very_many_events_is_drawn(show: Callable[..., Any], tmp_path: Path) -> None:
    written = write_trace(tmp_path / "trace", 8_000_000)
    middle_s = written.wall_ticks * TICKS_PER_13 / 13 / 2e9
    half_s = middle_s * MIDDLE
    page = show(page_of(tmp_path / "trace"), f"#t={middle_s - half_s:.6f}-{middle_s + half_s:.6f}")
    height = int(page.locator("canvas.timeline").get_attribute("height"))
    assert height > 3 * ROW, "there is no place for the events"
