"""What the benchmark of pages measures in a browser: when a page is drawn, and moves that move."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_traces import page_of, training
from trace_builder import write_scripts

from benchmarks.analyzing.analyze_once import Cost
from benchmarks.result import Value
from benchmarks.showing.browser import FRAMES, MOVES, RLSCOPE_DRAWING, Opened, opened
from benchmarks.showing.page import Measured
from benchmarks.showing.traces import contents

#: Its policy is one that refuses to evaluate text, as that of rlscope's page.
DRAWS_LATE = """<!doctype html><meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'">
<p>text</p><script>
setTimeout(() => document.body.append(document.createElement("canvas")), 300)
</script>"""


def test_a_page_is_opened_and_each_move_is_a_frame(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of(write_scripts([training(30)], tmp_path / "trace")))
    found = opened(browser, path, RLSCOPE_DRAWING, ("in", "right", "out"))
    assert len(found.frames_ms) == 3 and min(found.frames_ms) > 0
    assert found.first_paint_ms > 0 and found.drawn_ms > 0


def test_text_is_painted_before_a_late_drawing(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(DRAWS_LATE)
    found = opened(browser, path, "canvas")
    assert found.first_paint_ms < 300 <= found.drawn_ms
    assert found.frames_ms == ()


def test_the_timeline_moves_as_it_is_told(show: Callable[..., Any], tmp_path: Path) -> None:
    page = show(page_of(write_scripts([training(30)], tmp_path / "trace")))

    def view_after(*moves: str) -> list[float]:
        page.evaluate(FRAMES, list(moves))
        page.evaluate("new Promise((done) => setTimeout(done, 250))")  # the address is written when the view rests
        return [float(time) for time in page.evaluate("location.hash").removeprefix("#t=").split("-")]

    length = 1.981  # 30 iterations of 66 ms, and one more
    start, end = view_after("in", "in")
    assert end - start == pytest.approx(length / 1.5**2)
    assert (start + end) / 2 == pytest.approx(length / 2, rel=0.01)
    assert view_after("right") == pytest.approx([start + (end - start) / 4, end + (end - start) / 4])
    assert view_after("left") == pytest.approx([start, end])


def test_the_moves_of_the_benchmark_come_back() -> None:
    assert MOVES.count("in") == MOVES.count("out") and MOVES.count("right") == MOVES.count("left")


def test_a_page_is_summed_up_by_medians_over_its_openings() -> None:
    openings = [Opened(paint, 500.0, (10.0, 20.0, paint)) for paint in (100.0, 200.0, 300.0)]
    page = Measured(4.5, [Cost(2_000_000_000, 1, 1)], openings)
    assert page.seconds == Value(2.0)
    assert page.first_paint_ms.value == 200.0 and page.drawn_ms.value == 500.0
    assert page.frame_ms(50).value == 20.0 and page.frame_ms(100).value == 200.0


def test_what_a_trace_holds_is_said(tmp_path: Path) -> None:
    assert contents(write_scripts([training(2)], tmp_path / "trace")) == "14 events, 1 process"
