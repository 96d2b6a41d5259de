"""Chrome's events, Parquet and folded stacks of one trace: other readers find the slices and sums of its script."""

import gzip
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from page_traces import training
from rank_traces import trained
from slices_of import expected_slices
from trace_builder import ProcessScript, parse_script, write_scripts

from rlscope.analysis.analysis import analyze
from rlscope.cli.main import verbs
from rlscope.export import chrome, events, parquet
from rlscope.trace.reader import open_trace

HOSTILE = """
process start=0 stop=1000000007
thread 0
0 + phase:collect
5 + inference
40 task generate elapsed 30 running 10
50 task generate elapsed 45 running 5
999999999 -
1000000000 -
thread 3
10 + simulation
12 + simulator:"quoted\\\\;name"
30 -
90 -
"""
ARGUMENTS = ("operation", "stage")
SCRIPTS = [pytest.param(training(5, 2, device=True), id="training"), pytest.param(parse_script(HOSTILE), id="names")]


def export(trace: Path, target: str, output: Path, *options: str) -> Path:
    found = CliRunner().invoke(verbs, ["export", str(trace), "--to", target, "-o", str(output), *options])
    assert found.exception is None, found.output
    return output


def complete_events(path: Path) -> list[dict[str, Any]]:
    """What a reader of JSON finds, with exact numbers, but phases of the process."""
    events = json.loads(path.read_text(), parse_float=Fraction)["traceEvents"]
    return [event for event in events if event["ph"] == "X" and event["tid"] != chrome.PHASES]


@pytest.mark.parametrize("script", SCRIPTS)
def test_chrome_has_the_slices_of_the_script(
    script: ProcessScript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chrome, "SLICES", 7)
    events = complete_events(export(write_scripts([script], tmp_path / "t"), "chrome", tmp_path / "out.json"))
    found = Counter(
        (e["cat"], e["name"], e["ts"] * 1000, e["dur"] * 1000, e["args"]["operation"], e["args"]["stage"])
        for e in events
    )
    assert script.stop is not None
    expected: Counter[tuple[Any, ...]] = Counter()
    for row, count in expected_slices(script, 0, script.stop).items():
        expected[row.kind, row.name, row.start, row.end - row.start, row.operation, row.stage] += count
    assert found == expected


def test_chrome_has_the_stream_of_device_work(tmp_path: Path) -> None:
    """HTA takes what has a stream for work of a device."""
    trace = write_scripts([training(3, device=True)], tmp_path / "t")
    events = complete_events(export(trace, "chrome", tmp_path / "out.json"))
    found = Counter((event["cat"], event["args"].get("device"), event["args"].get("stream")) for event in events)
    assert {row: count for row, count in found.items() if row[1:] != (None, None)} == {("kernel", 0, 1): 3}


def test_chrome_names_tracks_and_has_counters(tmp_path: Path) -> None:
    trace = write_scripts([training(3, device=True)], tmp_path / "t")
    packed = export(trace, "chrome", tmp_path / "out.json.gz")
    events = json.loads(gzip.decompress(packed.read_bytes()))["traceEvents"]
    names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names == {"phases", "iterations", "thread 0", "device 0, stream 1"}
    steps = [(event["ts"], event["args"]["value"]) for event in events if event["name"] == "timesteps"]
    assert steps == [(66_000 * number, 4 * number) for number in range(4)]
    assert [event["name"] for event in events if event["ph"] == "i"] == [f"iteration {number}" for number in range(3)]


@pytest.mark.parametrize("script", SCRIPTS)
def test_parquet_has_the_slices_of_the_script_and_all_tables(
    script: ProcessScript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "GROUP_ROWS", 7)
    trace = write_scripts([script], tmp_path / "t")
    folder = export(trace, "parquet", tmp_path / "out")
    found = pd.read_parquet(folder / "events.parquet")
    columns = ["category", "name", "operation", "stage", "depth", "start_ns", "duration_ns"]
    assert script.stop is not None
    assert Counter(found[columns].itertuples(index=False, name=None)) == Counter(
        {
            (row.kind, row.name, row.operation, row.stage, row.depth, row.start, row.end - row.start): count
            for row, count in expected_slices(script, 0, script.stop).items()
        }
    )
    analysis = analyze(open_trace(trace), by_function=True)
    pd.testing.assert_frame_equal(
        pd.read_parquet(folder / "breakdown.parquet"), analysis.breakdown.table, check_dtype=False
    )
    described = (folder / parquet.SCHEMA).read_text()
    for path in folder.glob("*.parquet"):
        part = described.partition(f"## {path.name}\n")[2].partition("\n## ")[0]
        assert [line.split("`")[1] for line in part.splitlines() if line.startswith("| `")] == list(
            pd.read_parquet(path)
        )


def test_bins_sum_to_their_parts_and_to_the_breakdown(tmp_path: Path) -> None:
    trace = write_scripts([training(5, 2, device=True), parse_script(HOSTILE)], tmp_path / "t")
    bins = pd.read_parquet(export(trace, "parquet", tmp_path / "out") / "bins.parquet")
    of_bins = bins.groupby(["process", "bin", "start_s", "end_s"])["seconds"].sum().reset_index()
    assert of_bins["seconds"].to_numpy() == pytest.approx((of_bins["end_s"] - of_bins["start_s"]).to_numpy(), abs=1e-8)
    analysis = analyze(open_trace(trace))
    for process in analysis.processes:
        parts = of_bins[of_bins["process"] == process.process]
        assert len(parts) == 1000 and list(parts["bin"]) == list(range(1000))
        assert (parts["start_s"].iloc[0], parts["end_s"].iloc[-1]) == (process.start_s, process.end_s)
        assert list(parts["start_s"].iloc[1:]) == list(parts["end_s"].iloc[:-1])
    columns = ["process", "stage", "operation", "category", "resource"]
    expected = analysis.breakdown.table.groupby(columns)["seconds"].sum()
    pd.testing.assert_series_equal(bins.groupby(columns)["seconds"].sum(), expected[expected > 0], check_dtype=False)


@pytest.mark.parametrize("script", SCRIPTS)
def test_arrow_has_the_rows_of_parquet(script: ProcessScript, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In groups that each have other names, and of two processes."""
    monkeypatch.setattr(events, "GROUP_ROWS", 7)
    trace = write_scripts([script, training(2)], tmp_path / "t")
    tables = (
        pd.read_feather(export(trace, "parquet", tmp_path / "out.arrow")),
        pd.read_parquet(export(trace, "parquet", tmp_path / "out") / "events.parquet"),
    )
    assert list(tables[0]) == list(tables[1])
    found, expected = (list(table.itertuples(index=False, name=None)) for table in tables)
    assert found == expected and len(found) > 2 * 7


def test_parquet_joins_the_ranks_of_a_call(tmp_path: Path) -> None:
    trained(tmp_path / "t", late_ms=5, steps=12).write()
    found = pd.read_parquet(export(tmp_path / "t", "parquet", tmp_path / "out") / "events.parquet")
    calls = found[found["category"] == "collective"]
    assert set(calls.groupby("flow")["process"].agg(lambda names: tuple(sorted(names)))) == {("rank 0", "rank 1")}
    assert len(calls) == 24 and set(found[found["category"] != "collective"]["flow"]) == {0}


def test_folded_lines_sum_to_the_life_of_the_process(tmp_path: Path) -> None:
    trace = write_scripts([training(5, 2)], tmp_path / "t")
    lines = export(trace, "folded", tmp_path / "out.folded").read_text().splitlines()
    found = {stack: int(nanoseconds) for stack, _, nanoseconds in (line.rpartition(" ") for line in lines)}
    assert found["main;backpropagation;backpropagation;backend;torch.addmm"] == 191_000_000
    (process,) = analyze(open_trace(trace)).processes
    assert sum(found.values()) == round(process.wall_s * 1e9)


def test_names_are_no_frames_of_their_own(tmp_path: Path) -> None:
    trace = write_scripts([parse_script(HOSTILE)], tmp_path / "t")
    text = export(trace, "folded", tmp_path / "out.folded").read_text()
    assert all(line.count(";") in (3, 4) for line in text.splitlines())


def test_a_window_of_sums_and_a_folder_with_files_are_refused(tmp_path: Path) -> None:
    trace = write_scripts([training(3)], tmp_path / "t")
    directory = tmp_path / "x.arrow"
    directory.mkdir()
    for arguments, said in (
        (["--to", "folded", "-o", str(tmp_path / "x"), "--window", "0:1"], "leave it out"),
        (["--to", "parquet", "-o", str(tmp_path)], "holds what rlscope did not write"),
        (["--to", "parquet", "-o", str(directory)], "expected a file or nothing"),
    ):
        found = CliRunner().invoke(verbs, ["export", str(trace), *arguments])
        assert said in str(found.exception)
