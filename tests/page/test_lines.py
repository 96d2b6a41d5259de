"""The panel of lines: which function and line Python's time is in, and which native calls a line made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_traces import page_of
from trace_builder import parse_script, write_scripts

#: Python has 80 of 100 ticks, 50 of them in line 8 of `step`, in which a native call of 20 ticks is made, too.
SCRIPT = """process start=0 stop=120
thread 0
0 + simulation
50 + simulator:mujoco.mj_step
70 -
100 -
100 + inference
120 -
stacks 9
50 sees 0 main:/me/a.py:1 step:/me/env.py:8
60 sees 0 main:/me/a.py:1 step:/me/env.py:8
100 sees 0 main:/me/a.py:2 reset:/me/<b>env</b>.py:30
120 sees 0 main:/me/a.py:3 act:/me/policy.py:5
"""


@pytest.fixture
def page(tmp_path: Path, show: Callable[..., Any]) -> Any:
    shown = show(page_of(write_scripts([parse_script(SCRIPT)], tmp_path / "trace")))
    shown.locator("[role=tab]:text('Lines')").click()
    return shown


def flames(page: Any) -> list[str]:
    """The names of the boxes, row by row."""
    return page.locator(".flames button").all_inner_texts()  # type: ignore[no-any-return]


def test_functions_are_below_their_callers(page: Any) -> None:
    assert flames(page) == ["Python", "simulation", "inference", "main", "main", "step", "reset", "act"]
    widths = page.locator(".flames button").evaluate_all("(boxes) => boxes.map((box) => parseFloat(box.style.width))")
    assert widths == pytest.approx([100, 80, 20, 80, 20, 50, 30, 20], abs=1e-4)


def test_a_click_opens_a_function_and_leaves_the_lines_of_its_stage(page: Any) -> None:
    lines = page.locator("table:has(caption:text('Lines of Python'))")
    assert lines.locator("tbody tr").count() == 3
    page.locator(".flames button:text('reset')").click()
    assert flames(page) == ["Python", "simulation", "main", "reset"]
    assert "reset (/me/<b>env</b>.py): 30 ns, 30 % of Python's time, 30 ns of it its own" in page.inner_text("#tables")
    assert lines.locator("tbody tr").count() == 2
    page.locator(".flames button:text('Python')").click()
    assert len(flames(page)) == 8


def test_a_line_shows_its_native_calls(page: Any) -> None:
    page.locator("button:text('/me/env.py:8')").click()
    calls = page.locator("table:has(caption:text('Native calls of /me/env.py:8'))")
    assert calls.locator("tbody tr").all_inner_texts()[0].startswith("mujoco.mj_step\t/me/env.py:8")
    page.locator("button:text('/me/policy.py:5')").click()
    assert "No stack was seen in a native call of /me/policy.py:5." in page.inner_text("#tables")


def test_a_run_without_stacks_says_how_to_get_them(tmp_path: Path, show: Callable[..., Any]) -> None:
    shown = show(page_of(write_scripts([parse_script(SCRIPT.partition("stacks")[0])], tmp_path / "trace")))
    shown.locator("[role=tab]:text('Lines')").click()
    assert "`--no-lines`" in shown.inner_text("#tables")
