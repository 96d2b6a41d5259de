"""Files for Perfetto, loaded by its own trace processor: it finds the slices, sums, depths and counters of the run."""

import gzip
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from page_traces import training
from random_scripts import scripts
from rank_traces import trained
from slices_of import SliceRow, expected_slices
from trace_builder import ProcessScript, parse_script, write_scripts
from trace_processor import TraceProcessor, loaded

from benchmarks.synthetic import TICKS_PER_13, Shape, write_trace
from rlscope.cli.main import verbs

WRONG = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
SLICES = """select coalesce(thread.name, track.name) as track, process.name as process, process.pid,
 slice.category as kind, slice.name, slice.ts, slice.dur, slice.depth from slice join track on track.id = slice.track_id
 left join thread_track on thread_track.id = track.id left join thread on thread.utid = thread_track.utid
 left join process_track on process_track.id = track.id
 join process on process.upid = coalesce(thread.upid, process_track.upid)"""
#: Tracks of what is not on one of the trace's own tracks.
BESIDE = ("phases", "iterations")
TASKS = """
process start=0 stop=100
thread 0
0 + phase:collect
5 + inference
40 task generate elapsed 30 running 10
50 task generate elapsed 45 running 5
60 -
70 -
thread 3
10 + simulation
12 + simulator:mujoco.step
30 -
30 + wait:posix.read pipe:[1]
30 -
90 -
"""


def exported(trace: Path, *options: str, name: str = "out.pftrace") -> bytes:
    path = trace / name
    arguments = ["export", str(trace), "--to", "perfetto", "-o", str(path), *options]
    found = CliRunner().invoke(verbs, arguments, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return path.read_bytes()


def slices(processor: TraceProcessor) -> list[dict[str, Any]]:
    assert processor.query(WRONG) == []
    return processor.query(SLICES)


def as_found(rows: Counter[SliceRow]) -> Counter[tuple[Any, ...]]:
    """What the trace processor should say of slices: it tells no operation, and lanes have depths of their own."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row, count in rows.items():
        found[row.kind, row.name, row.start, row.end - row.start, row.depth] += count
    return found


@pytest.mark.parametrize(
    "script", [training(5, 2, device=True), parse_script(TASKS)], ids=["training with a device", "tasks and threads"]
)
def test_slices_are_those_of_the_script(script: ProcessScript, browser: Any, tmp_path: Path) -> None:
    write_scripts([script], tmp_path)
    assert script.stop is not None
    with loaded(browser, exported(tmp_path)) as processor:
        found = slices(processor)
        stages = processor.query("select distinct string_value as stage from args where key = 'debug.stage'")
    assert Counter(
        (row["kind"], row["name"], row["ts"], row["dur"], row["depth"]) for row in found if row["track"] not in BESIDE
    ) == as_found(expected_slices(script, 0, script.stop))
    assert {row["stage"] for row in stages} >= {"inference", "simulation"}
    phases = [(row["name"], row["ts"], row["dur"]) for row in found if row["track"] == "phases"]
    assert len(phases) == 1 and phases[0][0] in ("collect", "data_collection")


@given(st.lists(scripts(), min_size=1, max_size=6), st.sampled_from((1, 5, 1000)))
@settings(max_examples=25, deadline=None)
def test_slices_of_random_processes_are_those_of_their_scripts(
    browser: Any, drawn: list[ProcessScript], entries_per_chunk: int
) -> None:
    processes = [replace(script, limit=0, stop=script.stop or script.start + 300) for script in drawn]
    origin = min(script.start for script in processes)
    with tempfile.TemporaryDirectory() as directory:
        write_scripts(processes, Path(directory), entries_per_chunk)
        trace = exported(Path(directory))
    with loaded(browser, trace) as processor:
        found = slices(processor)
    of_pid: dict[int, Counter[tuple[Any, ...]]] = {pid: Counter() for pid, _ in enumerate(processes, 1)}
    for row in found:
        if row["track"] not in BESIDE:
            of_pid[row["pid"]][row["kind"], row["name"], row["ts"] + origin, row["dur"], row["depth"]] += 1
    assert list(of_pid.values()) == [
        as_found(expected_slices(script, script.start, script.stop)) for script in processes
    ]


def test_calls_of_ranks_are_joined_and_timesteps_counted(browser: Any, tmp_path: Path) -> None:
    trained(tmp_path, late_ms=5, steps=12).write()
    with loaded(browser, exported(tmp_path)) as processor:
        found = slices(processor)
        flows = processor.query(
            "select o.ts as a, o.dur as a_dur, i.ts as b, i.dur as b_dur from flow"
            " join slice o on o.id = flow.slice_out join slice i on i.id = flow.slice_in order by a"
        )
        steps = processor.query(
            "select process.name as process, counter.ts, value from counter join process_counter_track t"
            " on t.id = counter.track_id join process using (upid) where t.name = 'timesteps' order by 1, 2"
        )
    # A step takes 16 ms: rank 0 calls after 10 ms and waits, rank 1 after 15 ms.
    ends = [(row["a"] + row["a_dur"], row["b"] + row["b_dur"]) for row in flows]
    assert ends == [(16_000_000 * step,) * 2 for step in range(1, 13)]
    assert {(row["a_dur"], row["b_dur"]) for row in flows} == {(6_000_000, 1_000_000)}
    assert Counter(row["process"] for row in found if row["kind"] == "collective") == {"rank 0": 12, "rank 1": 12}
    assert [(row["process"], row["ts"], row["value"]) for row in steps] == [
        (f"rank {rank}", 16_000_000 * step, step) for rank in range(2) for step in range(1, 13)
    ]


def test_sums_are_those_of_ticks_within_half_a_nanosecond_a_border(browser: Any, tmp_path: Path) -> None:
    """Of a clock whose tick is 160/13 ns, and threads whose calls interleave."""
    known = write_trace(tmp_path / "trace", 40_000, Shape(threads=2))
    with loaded(browser, exported(tmp_path / "trace")) as processor:
        assert processor.query(WRONG) == []
        found = processor.query("select category as kind, count(*) as n, sum(dur) as ns from slice group by 1")
        deepest = processor.query("select max(depth) as depth from slice")
    assert sum(row["n"] for row in found) == known.events
    of = {row["kind"]: row for row in found}
    assert {kind: of[kind]["n"] for kind in known.crossings} == known.crossings
    for kind, ticks in known.boundary_ticks.items():
        assert abs(of[kind]["ns"] - ticks * TICKS_PER_13 / 13) <= of[kind]["n"]
    assert deepest == [{"depth": 2}]


def test_a_window_has_its_part_alone_and_a_file_may_be_compressed(browser: Any, tmp_path: Path) -> None:
    write_scripts([training(5)], tmp_path)
    whole = exported(tmp_path)
    assert gzip.decompress(exported(tmp_path, name="out.pftrace.gz")) == whole
    with loaded(browser, exported(tmp_path, "--window", "0.066:0.132")) as processor:
        found = slices(processor)
        counted = processor.query("select ts, value from counter order by ts")
    assert (min(row["ts"] for row in found), max(row["ts"] + row["dur"] for row in found)) == (66_000_000, 132_000_000)
    assert Counter(row["name"] for row in found if row["kind"] == "operation") == {
        "training_loop": 1, "simulation": 1, "inference": 1, "backpropagation": 1,
    }  # fmt: skip
    assert [row["value"] for row in counted] == [4, 8]
