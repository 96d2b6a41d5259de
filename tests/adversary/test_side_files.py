"""Damaged files beside the events, and very many or very odd things in them."""

import math
import re
from pathlib import Path

import fuzz_side_files
import numpy as np
import pytest
from adversary_runs import call, small_trace

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis import utilization
from rlscope.analysis.utilization import read_utilization
from rlscope.errors import TraceFormatError
from rlscope.report.tables import ROWS_SHOWN
from rlscope.trace.counter_metrics import ACTIVE_CYCLES, parse_counters, sampled_metrics
from rlscope.trace.counters_file import CounterWriter
from rlscope.trace.reader import counters_path
from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    results, failures = fuzz_side_files.fuzz(2000, 7, tmp_path)
    assert failures == []
    assert {name for name, result in results.items() if result.inputs} == set(results)
    assert results["manifest.json"].refused > 100 and results["calibration.json"].refused > 100


def counted(trace: Path, active: list[float], dram: list[float]) -> Path:
    metrics = parse_counters("sm_efficiency,achieved_occupancy,dram_bytes")
    path = counters_path(trace, "GPU-1")
    writer = CounterWriter(
        path, uuid="GPU-1", name="H200", chip="GH100", interval_ns=1_000_000, metrics=metrics, offset_low_ns=0,
        offset_high_ns=0,
    )  # fmt: skip
    start = np.arange(len(active)) * 1_000_000
    columns = {name: np.ones(len(active)) for name in sampled_metrics(metrics)}
    writer.append(start, start + 1_000_000, columns | {ACTIVE_CYCLES: active, "dram__bytes.sum": dram})
    writer.close()
    return path


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", [math.nan, math.inf, -1.0, 1e300], ids=str)
def test_values_that_no_counter_shows(odd: float, tmp_path: Path) -> None:
    """Eight bytes of ones in a file are a NaN."""
    trace = small_trace(tmp_path / "trace")
    path = counted(trace, [1.0, odd, 1.0, 0.0], [1.0, 2.0, 3.0, 4.0])
    found = call("analyze", trace)
    assert found.returncode == 2 and str(path) in found.stderr and "values that no counter shows" in found.stderr
    recovered = call("analyze", trace, "--recover")
    assert (recovered.returncode, recovered.stderr) == (0, "")


@pytest.mark.filterwarnings("error")
def test_counters_without_a_sample(tmp_path: Path) -> None:
    trace = small_trace(tmp_path / "trace")
    counted(trace, [], [])
    found = call("analyze", trace)
    assert (found.returncode, found.stderr) == (0, "")


def utilization_of(directory: Path, *lines: str) -> Path:
    (directory / UTILIZATION_NAME).write_text("\n".join([HEADER, *lines]) + "\n")
    return directory


def test_samples_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a part begins with, ends with or lacks changes nothing."""
    lines = [f"{number},GPU-{number % 3},{number % 7}.5,{number}" for number in range(1000)]
    lines[10:10] = ["", "x,y", "5,GPU-0\r0.5,1", "\x00,\x00,\x00,\x00"]
    whole = read_utilization(utilization_of(tmp_path, *lines))
    assert (len(whole), whole.attrs["damaged_lines"]) == (1000, 3)
    for part in (1, 100, 4001):
        monkeypatch.setattr(utilization, "BLOCK_BYTES", part)
        parts = read_utilization(tmp_path)
        assert parts.equals(whole) and parts.attrs == whole.attrs


def test_a_file_that_is_none_of_samples_is_refused_early(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError, match="damaged lines were expected"):
        read_utilization(utilization_of(tmp_path, *["nothing"] * 2000))
    (tmp_path / UTILIZATION_NAME).write_bytes(b"x" * 50_000_000)  # one line
    assert read_utilization(tmp_path).empty


def test_more_devices_than_any_machine_has(tmp_path: Path) -> None:
    lines = [f"{number},GPU-{number},0.5,1" for number in range(utilization.MOST_SOURCES + 5)]
    table = read_utilization(utilization_of(tmp_path, *lines))
    assert (table["source"].nunique(), table.attrs["damaged_lines"]) == (utilization.MOST_SOURCES, 5)


def test_a_name_for_each_step_is_shown_in_part(tmp_path: Path) -> None:
    """`operation(f"Inference {i}")` is a common mistake; the longest rows are shown, in their order."""
    process = (writer := TraceWriter(tmp_path / "trace", entries_per_chunk=100)).process()
    thread = process.thread()
    for number in range(3000):
        thread.operation(1000 * number, 1000 * number + 500 + number % 400, f"Inference {number}")
    process.stop(3_000_000)
    trace = writer.write({"complete": True})
    found = call("analyze", trace)
    assert (found.returncode, found.stderr, len(found.stdout) < 60_000) == (0, "", True)
    assert 0 < " ".join(found.stdout.split()).count("was `inference` meant?") <= ROWS_SHOWN
    found = call("analyze", trace, "--by", "operation")
    shown = re.findall(r"Inference \d+", found.stdout.partition("Breakdown")[2].partition("Notes")[0])
    assert len(shown) == len(set(shown)) <= ROWS_SHOWN
    assert {f"Inference {number}" for number in range(399, 3000, 400)} <= set(shown)
    assert f"The {ROWS_SHOWN} rows with most seconds, 2,901 more with --all" in found.stdout
