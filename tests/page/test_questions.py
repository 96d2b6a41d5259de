"""The questions that people ask of a run: a scripted user finds the known answer in at most three steps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_traces import SLOW_MS, page_of, training
from rank_traces import trained
from trace_builder import write_scripts

from benchmarks.trace_writer import TraceWriter
from rlscope.model import Category

ITERATIONS, SLOW = 60, 41
MOST_STEPS = 3
HAS_FOCUS = "(element) => element === document.activeElement"
#: The question, clicks that lead to its answer (a selector each), and a text that is in the answer.
QUESTIONS = {
    "what the run was for": ((), "main", "Where the time went"),
    "where does time go": (
        ("#breakdown .name:text('backpropagation')", "#breakdown ul ul .name:text('backpropagation')"),
        "#breakdown .tree",
        "torch.addmm",
    ),
    "which calls is the backend's time in": (("#breakdown .key-backend",), "#breakdown .table", "torch.linear"),
    "why was an iteration slow": (("#iterations button:text('41: ')",), "#iterations .why", "torch.addmm"),
    "its exact events": (
        ("#iterations button:text('41: ')", "#iterations button:text('Show it in the timeline')"),
        "#timeline",
        "2.701 to 2.82 s",
    ),
    "is the device idle": ((), "#timeline .labels", "GPU 0: busy, reported"),
    "what each device did": (("[role=tab]:text('Devices')",), "#tables", "gemm"),
    "who waits for whom": (("[role=tab]:text('Waits')",), "#tables", "No process waited"),
    "did it get slower over time": ((), "#iterations", "60 iterations of main"),
    "is it the simulator or what is around it": (
        ("#breakdown .name:text('simulation')", "#breakdown ul ul .name:text('simulation')"),
        "#breakdown .tree .table",
        "gymnasium.step\tsimulator\t1.2 s\t60",
    ),
    "how many crossings": (
        ("[role=tab]:text('Transitions')",),
        "#tables",
        "simulation\tsimulation\tpython\tsimulator\t60\t1\t0.25",
    ),
    "which process is odd": (("[role=tab]:text('Processes')",), "#tables", "main\tmain\t1\t"),
    "how fine is what I see": ((), "footer", "65,536 bins"),
}


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    script = training(ITERATIONS, SLOW, device=True)
    return page_of(write_scripts([script], tmp_path_factory.mktemp("slow") / "trace"))


@pytest.mark.parametrize("question", QUESTIONS)
def test_by_mouse(question: str, html: str, show: Callable[..., Any]) -> None:
    clicks, place, answer = QUESTIONS[question]
    assert len(clicks) <= MOST_STEPS
    page = show(html)
    for selector in clicks:
        page.locator(selector).first.click()
    assert answer in page.locator(place).first.inner_text()


def tab_to(page: Any, element: Any) -> None:
    """Press Tab until the element has the focus; within the tabs of tables, which come last, arrows."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if element.evaluate(HAS_FOCUS):
            return
        if page.evaluate("document.activeElement.getAttribute('role') === 'tab'"):
            break
    for _ in range(page.locator("[role=tab]").count()):
        page.keyboard.press("ArrowRight")
        if element.evaluate(HAS_FOCUS):
            return


@pytest.mark.parametrize("question", QUESTIONS)
def test_by_keyboard(question: str, html: str, show: Callable[..., Any]) -> None:
    """Whatever is clicked can be reached with Tab, shows that it has the focus, is pressed with Enter and keeps it."""
    clicks, place, answer = QUESTIONS[question]
    page = show(html)
    for selector in clicks:
        element = page.locator(selector).first
        tab_to(page, element)
        assert element.evaluate(HAS_FOCUS), selector
        assert element.evaluate("(element) => getComputedStyle(element).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        assert element.evaluate(HAS_FOCUS), f"{selector} lost the focus"
    assert answer in page.locator(place).first.inner_text()


def test_the_longer_function_is_the_first_row_and_rows_add_up(html: str, show: Callable[..., Any]) -> None:
    page = show(html)
    page.keyboard.press("/")
    page.keyboard.type(str(SLOW))
    page.keyboard.press("Enter")
    why = page.locator("#iterations .why")
    assert f"Iteration {SLOW} took" in why.inner_text()
    rows = why.locator("tbody tr").all_inner_texts()
    assert rows[0].split("\t")[:5] == ["backpropagation", "backpropagation", "backend", "torch.addmm", "+41 ms"]
    with page.expect_download() as download:
        why.get_by_text("Save CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    place = lines[0].split(",").index("more than usual")
    assert sum(float(line.split(",")[place]) for line in lines[1:]) == pytest.approx(
        sum(SLOW_MS.values()) / 1000, abs=1e-9
    )


def test_the_command_for_other_events_makes_a_page_that_has_them(tmp_path: Path, show: Callable[..., Any]) -> None:
    trace = write_scripts([training(ITERATIONS, SLOW)], tmp_path / "trace")
    address = "#t=1-1.05"  # in no window of the first page
    page = show(page_of(trace), address)
    page.locator("#timeline button:text('Numbers')").click()
    assert "--focus 1.000:1.050" in page.locator(".selection code").inner_text()
    focused = show(page_of(trace, (1.0, 1.05)), address)
    focused.locator("#timeline button:text('Numbers')").click()
    assert focused.locator(".selection code").count() == 0
    heights = [each.locator("canvas.timeline").evaluate("(canvas) => canvas.height") for each in (page, focused)]
    assert heights[1] > heights[0]  # its events are drawn below the row


def test_which_rank_keeps_the_others(tmp_path: Path, show: Callable[..., Any]) -> None:
    """Rank 1 is late by 2 ms in each of 40 steps."""
    page = show(page_of(trained(tmp_path / "trace", 2).write()))
    assert "rank 1 is late by 2 ms in each iteration" in page.locator("main").inner_text()
    page.locator("[role=tab]:text('Ranks')").click()
    said = page.get_by_role("tabpanel").inner_text()
    for row in ("rank 1\t40\t80 ms\t2 ms\t80 ms", "rank 0\tgroup:0\tall_reduce\t40\t40\t320"):
        assert row in said


#: What the page says of a run whose call has not ended, of one that did nothing yet, and of a file that lost its end.
LACKING = {
    "open": "the process was killed or is still running",
    "empty": "The trace holds no time of this process.",
    "damaged": "is damaged at byte",
}


@pytest.mark.parametrize("kind", LACKING)
def test_missing_parts_say_why(kind: str, tmp_path: Path, show: Callable[..., Any]) -> None:
    writer = TraceWriter(tmp_path / "trace")
    thread = writer.process().thread()
    if kind != "empty":
        thread.begin_boundary(10, Category.BACKEND, "torch.add")
    trace = writer.write()
    if kind == "damaged":
        (file,) = trace.glob("*.rlscope")
        file.write_bytes(file.read_bytes()[:-64])
    page = show(page_of(trace))
    for words in (LACKING[kind], "incomplete", "no progress", "report_progress"):
        assert words in page.locator("main").inner_text()
    for panel in ("Devices", "Tasks", "Counters", "Waits", "Ranks"):
        page.locator(f"[role=tab]:text('{panel}')").click()
        said = page.get_by_role("tabpanel").inner_text()
        assert said.startswith(("No ", "The run was not recorded")) and said.endswith(".")
