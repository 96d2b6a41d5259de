"""The page without a browser: its size, its footer, several traces, and how its data is packed."""

import base64
import json
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from page_traces import page_of, run_of, training
from trace_builder import write_scripts

from rlscope.page import make_page
from rlscope.page.container import pack
from rlscope.page.grid import bins_for, pack_bins
from rlscope.page.static_part import breakdown


def test_a_page_that_is_too_large_gets_wider_bins_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write_scripts([training(30)], tmp_path / "trace")
    whole = page_of(trace)
    assert "65,536 bins" in whole
    monkeypatch.setattr(make_page, "MOST_BYTES", len(whole.encode()) - 1)
    smaller = page_of(trace)
    assert len(smaller.encode()) < len(whole.encode()) and "32,768 bins" in smaller


def test_several_traces_are_in_one_page(tmp_path: Path) -> None:
    runs = [run_of(write_scripts([training(count)], tmp_path / f"run{count}")) for count in (2, 3)]
    html = make_page.make_page(runs)
    assert "<h2>run2</h2>" in html and "<h2>run3</h2>" in html and "<title>RL-Scope: run2, run3</title>" in html


def test_without_a_script_time_of_who_paces_is_summed_by_part_stage_and_layer() -> None:
    names = ("process", "part", "stage", "category", "seconds")
    rows = [
        ("main", "loop", "inference", "backend", 1.0),
        ("main", "loop", "simulation", "python", 1.0),
        ("main", "loop", "simulation", "python", 2.0),
        ("main", "starting up", "(none)", "python", 4.0),
        ("worker", "loop", "simulation", "simulator", 8.0),
    ]
    html = breakdown({"life": {"process": "main"}, "breakdown": [dict(zip(names, row, strict=True)) for row in rows]})
    assert [re.sub("<[^>]+>", " ", row).split() for row in re.findall("<tr><td>.*?</tr>", html)] == [
        ["starting", "up", "python", "4", "50", "%"],
        ["simulation", "python", "3", "38", "%"],
        ["inference", "backend", "1", "13", "%"],
    ]


def test_bins_are_shared_by_processes() -> None:
    assert [bins_for(processes) for processes in (1, 2, 3, 16, 256, 10_000)] == [65536, 65536, 32768, 8192, 512, 256]


def test_packed_arrays_lie_behind_their_header() -> None:
    arrays = {"a": np.array([1, 2, 3], "u1"), "b": np.array([0.5], "f8"), "c": np.array([0x0102, 0x0304], "u4")}
    data = zlib.decompress(base64.b64decode(pack({"schema": 1}, arrays)))
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length])
    start = -(-(4 + length) // 8) * 8
    assert header["arrays"]["b"] == {"type": "f64", "offset": 8, "count": 1}
    assert data[start : start + 3] == bytes([1, 2, 3]) and struct.unpack_from("<d", data, start + 8) == (0.5,)
    assert data[start + 16 : start + 24] == bytes([2, 4, 1, 3, 0, 0, 0, 0])
    with pytest.raises(ValueError, match="expected one dimension of uint8"):
        pack({}, {"c": np.array([1], "i8")})


def test_packed_bins_hold_each_tick_and_a_bin_may_be_longer_than_32_bits() -> None:
    series = [("simulation", "step", "python", "cpu"), ("inference", "act", "backend", "cpu")]
    ticks = np.array([5, 70_000, 1], "u8")
    packed = pack_bins(series, np.array([0, 1, 1], "u4"), np.array([0, 1, 0], "u4"), ticks, 3)
    assert packed.series == (series[1], series[0]) and packed.shift == 0
    assert packed.mask.tolist() == [0b10, 0b11, 0]
    assert packed.values.tolist() == [5, 70_000, 1]
    long = pack_bins(series, np.array([0], "u4"), np.array([0], "u4"), np.array([1 << 33], "u8"), 1)
    assert long.shift == 2
