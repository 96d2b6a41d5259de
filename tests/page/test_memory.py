"""The panel of memory: the most in each operation, and how it went."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from page_traces import page_of
from trace_builder import parse_script, write_scripts

SCRIPT = """process start=0 stop=120
thread 0
0 + simulation
10 memory host 0 used 3145728 peak 4194304
20 memory pytorch 1 used 1536 peak 1572864
100 -
110 memory host 0 used 1048576 peak 4194304
"""


def rows(page: Any, caption: str) -> list[str]:
    table = page.locator(f"table:has(caption:text('{caption}'))")
    return table.locator("tbody tr").all_inner_texts()  # type: ignore[no-any-return]


def test_memory_by_operation_and_in_all(tmp_path: Path, show: Callable[..., Any]) -> None:
    page = show(page_of(write_scripts([parse_script(SCRIPT)], tmp_path / "trace")))
    page.locator("[role=tab]:text('Memory')").click()
    assert [row.split("\t")[1:] for row in rows(page, "The most memory")] == [
        ["host", "", "simulation", "simulation", "3 MiB", "1"],
        ["host", "", "(none)", "(none)", "1 MiB", "1"],
        ["PyTorch", "1", "simulation", "simulation", "1.5 KiB", "1"],
    ]
    assert [row.split("\t")[1:5] for row in rows(page, "Memory of processes")] == [
        ["host", "", "4 MiB", "1 MiB"],
        ["PyTorch", "1", "1.5 MiB", "1.5 KiB"],
    ]


def test_a_run_of_which_no_memory_is_known(tmp_path: Path, show: Callable[..., Any]) -> None:
    script = "process start=0 stop=10\nthread 0\n0 + simulation\n10 -\n"
    page = show(page_of(write_scripts([parse_script(script)], tmp_path / "trace")))
    page.locator("[role=tab]:text('Memory')").click()
    assert page.inner_text("[role=tabpanel]") == "No memory was looked at; recordings of earlier versions have none."
