"""Of several traces the page first shows how long each was in operations, as bars of one scale."""

import re
from typing import Any

from rlscope.page.overview import overview


def trace(name: str, rows: list[tuple[str, str, float]], **document: Any) -> dict[str, Any]:
    keys = ("operation", "category", "seconds")
    breakdown = [dict(zip(keys, row, strict=True)) | {"corrected_seconds": row[2] / 2} for row in rows]
    return {
        "name": name,
        "length_s": 12.5,
        "document": {"breakdown": breakdown, "correction": None, "iterations": None} | document,
    }


SLOW = trace("<slow>", [("step", "python", 3.0), ("step", "cuda", 1.0), ("(none)", "python", 8.0)], iterations=1234)
FAST = trace("fast", [("step", "python", 1.0), ("infer", "python", 1.0)])


def bars(html: str) -> list[list[tuple[str, str, str]]]:
    found = re.findall("<svg.*?</svg>", html)
    parts = [re.findall('class="fill-([a-z]+)" x="([0-9.]+)" width="([0-9.]+)"', bar) for bar in found]
    return [[part for part in bar if part[2] != "0.0"] for bar in parts]


def test_bars_have_one_scale_and_leave_out_what_is_in_no_operation() -> None:
    html = overview([SLOW, FAST])
    assert bars(html) == [[("python", "0.0", "225.0"), ("cuda", "225.0", "75.0")], [("python", "0.0", "150.0")]]
    assert re.sub("<[^>]+>", " ", html.partition("<tbody>")[2]).split() == [
        "&lt;slow&gt;", "12.5", "s", "1,234", "4", "s", "fast", "12.5", "s", "2", "s",
    ]  # fmt: skip


def test_corrected_times_are_shown_where_a_trace_has_them() -> None:
    corrected = trace("corrected", [("step", "backend", 4.0)], correction={"source": "a calibration"})
    assert bars(overview([corrected, FAST])) == [[("backend", "0.0", "300.0")], [("python", "0.0", "300.0")]]


def test_traces_without_operations_have_empty_bars() -> None:
    assert bars(overview([trace("idle", []), trace("too", [])])) == [[], []]
