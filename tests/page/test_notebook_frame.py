"""The page in the frame of a notebook, which shuts it off from the notebook: it draws, and what one clicks works."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from page_traces import training
from trace_builder import write_scripts

import rlscope


def test_the_page_works_in_a_frame(tmp_path: Path, show: Callable[..., Any]) -> None:
    """The fixture fails for any error, so also for an address that the frame does not let the page write."""
    frame = rlscope.analyze(write_scripts([training(4, 2)], tmp_path / "trace")).page()
    notebook = show(f'<!doctype html><html data-ready="yes"><title>Notebook</title>{frame._repr_html_()}</html>')
    page = notebook.frame_locator("iframe")
    page.locator("html[data-ready=yes]").wait_for(timeout=10_000)
    page.locator("#breakdown .key-backend").click()
    assert "torch.linear" in page.locator("#breakdown .table").first.inner_text()
    page.locator("#timeline").press("+")
    page.locator("button:text('Show it in the timeline')").click()
    notebook.wait_for_timeout(250)  # the address is written when the view rests
    assert notebook.title() == "Notebook"
