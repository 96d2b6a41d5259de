"""The table of durations: the line through how long an operation took, and which operations grow."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from trace_builder import parse_script, write_script

from rlscope.analysis.analysis import Analysis, analyze
from rlscope.report.first_screen import screen_lines
from rlscope.report.screen import Screen
from rlscope.trace.reader import open_trace


def analyzed(lengths: Sequence[int], directory: Path, operation: str = "backpropagation") -> Analysis:
    """One operation after the other, of so many ns, with 1 ns between two."""
    lines, now = ["thread 0"], 1
    for length in lengths:
        lines += [f"{now} + {operation}", f"{now + length} -"]
        now += length + 1
    write_script(parse_script("\n".join([f"process start=0 stop={now}", *lines, ""])), directory, 1000)
    return analyze(open_trace(directory))


@pytest.mark.parametrize("count", [20, 64, 100, 1000])
def test_a_line_through_lengths_that_grow_evenly(count: int, tmp_path: Path) -> None:
    (row,) = analyzed([1000 + 100 * number for number in range(count)], tmp_path).durations
    assert (row.stage, row.operation, row.count, row.grows) == ("backpropagation", "backpropagation", count, True)
    assert [1e9 * each for each in (row.slope_s, row.slope_low_s, row.slope_high_s)] == pytest.approx([100] * 3)
    assert 1e9 * row.mean_s == pytest.approx(1000 + 100 * (count - 1) / 2)


def test_the_interval_is_that_of_a_regression(tmp_path: Path) -> None:
    draw = random.Random(1)
    lengths = [draw.randrange(1000, 2000) + 10 * number for number in range(120)]
    (row,) = analyzed(lengths, tmp_path).durations
    means = np.reshape(lengths, (30, 4)).mean(axis=1)
    fit = stats.linregress(4 * np.arange(30), means)
    error = stats.t.ppf(0.975, 28) * fit.stderr
    assert 1e9 * row.slope_s == pytest.approx(fit.slope)
    assert 1e9 * row.slope_low_s == pytest.approx(fit.slope - error, rel=1e-4)
    assert 1e9 * row.slope_high_s == pytest.approx(fit.slope + error, rel=1e-4)
    assert [1e9 * row.first_s, 1e9 * row.last_s] == pytest.approx([fit.intercept, fit.intercept + fit.slope * 116])


def test_what_grows_is_said_first_with_its_slope(tmp_path: Path) -> None:
    analysis = analyzed([1000 + 100 * number for number in range(20)], tmp_path)
    (said,) = [line for line in screen_lines(analysis, Screen(400)) if line.startswith("Each ")]
    assert "100 ns" in said and "2.9 µs" in said


@pytest.mark.parametrize(
    ("operation", "growth", "is_said"),
    [("backpropagation", 100, True), ("backpropagation", 1, False), ("simulation", 100, False)],
)
def test_updates_that_grow_are_a_change(operation: str, growth: int, is_said: bool, tmp_path: Path) -> None:
    findings = analyzed([1000 + growth * number for number in range(20)], tmp_path, operation).findings
    said = [(row.code, "from 1 µs to 2.9 µs" in row.change) for row in findings]
    assert said == [("RLS504", True)] * is_said


@pytest.mark.parametrize(
    "lengths",
    [
        pytest.param([1000] * 50, id="even"),
        pytest.param([1000 if number % 2 else 3000 for number in range(50)], id="up and down"),
        pytest.param([50_000] + [1000] * 49, id="the first one compiles"),
        pytest.param([1000 + number for number in range(50)], id="by a little"),
        pytest.param([1000] * 40 + [5000] * 40, id="once"),
        pytest.param(
            [1000 + place % 7 for place in range(40)] + [5000 + place % 7 for place in range(40)], id="a step"
        ),
    ],
)
def test_nothing_else_grows(lengths: list[int], tmp_path: Path) -> None:
    (row,) = analyzed(lengths, tmp_path).durations
    assert not row.grows


@pytest.mark.parametrize("seed", range(10))
def test_growth_is_told_where_the_machine_becomes_faster_and_slower(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    slowness = [draw.uniform(1, 2) for _ in range(12)]
    (row,) = analyzed([int(1000 * number * slowness[number // 10]) for number in range(120)], tmp_path).durations
    assert row.grows


def test_of_few_there_is_no_line(tmp_path: Path) -> None:
    assert not analyzed([1000] * 15, tmp_path).durations
