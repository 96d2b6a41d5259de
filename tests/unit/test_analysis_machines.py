"""Traces of several machines: whose clock times are by, what was measured of the others, and what nobody knows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.trace_writer import ProcessWriter, TraceWriter
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.contents import read_contents
from rlscope.analysis.document import document_of
from rlscope.report.sentences import machine_lines
from rlscope.trace.format import ClockPair
from rlscope.trace.reader import open_trace

S = 1_000_000_000
HERE, THERE, ELSEWHERE = bytes(range(16)), bytes([1] * 16), bytes([2] * 16)
MANIFEST: dict[str, Any] = {
    "main_pid": 1, "exit_status": 0, "complete": True, "machine": {"boot_id": HERE.hex()},
    "start": {"monotonic_ns": 0, "realtime_ns": 1 * S},
}  # fmt: skip
#: The machine THERE was started 1000 s after the one that ran `rlscope record`, and its time of day is 5 minutes ahead.
STARTED_LATER, AHEAD = 1_000 * S, 300 * S
MEASURED = {"monotonic_ns": 100 * S, "offset_ns": STARTED_LATER + 2_000, "error_ns": 50_000}


def process_of(
    writer: TraceWriter, name: str, boot_id: bytes, start_s: int, pid: int = 1, **clock: Any
) -> ProcessWriter:
    """One that runs for 10 s, from a time of its machine's CLOCK_MONOTONIC."""
    process = writer.process(pid=pid, start_ticks=start_s * S, boot_id=boot_id)
    if boot_id != HERE:
        pair = ClockPair(start_s * S, start_s * S, start_s * S + STARTED_LATER + 1 * S + AHEAD)
        process.header = replace(process.header, first_pair=pair, last_pair=pair)
    process.properties({"process_name": name, "hostname": f"host{boot_id[0]}"} | ({"clock": clock} if clock else {}))
    process.thread()
    process.stop((start_s + 10) * S)
    return process


def analyzed(writer: TraceWriter, manifest: dict[str, Any] = MANIFEST) -> Analysis:
    return analyze(open_trace(writer.write(manifest)))


def starts(analysis: Analysis) -> dict[str, float]:
    return dict(zip(analysis.processes.table["process"], analysis.processes.table["start_s"], strict=True))


def test_ranks_have_their_host_where_there_are_several(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "two")
    for rank, boot_id in enumerate((HERE, THERE, HERE)):
        process_of(writer, f"rank {rank}", boot_id, 1_095 if boot_id == HERE else 100, pid=rank + 1)
    process_of(writer, "rank of none", HERE, 1_095, pid=4)
    names = {row.process for row in analyzed(writer).processes}
    assert names == {"rank 0 on host0", "rank 1 on host1", "rank 2 on host0", "rank of none"}
    writer = TraceWriter(tmp_path / "one")
    process_of(writer, "rank 0", HERE, 1_095)
    assert [row.process for row in analyzed(writer).processes] == ["rank 0"]


def test_clocks_five_minutes_apart(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", HERE, 1_095)
    # It began 5 s after main. One of its siblings asked in vain, one was killed before it could say anything.
    process_of(writer, "measured", THERE, 100, exchanges=[MEASURED], unanswered=0)
    process_of(writer, "in vain", THERE, 102, pid=2, exchanges=[], unanswered=1)
    process_of(writer, "killed", THERE, 103, pid=3)
    analysis = analyzed(writer)
    assert analysis.why == ()
    assert starts(analysis) == pytest.approx(
        {"main": 0.0, "measured": 5.000002, "in vain": 7.000002, "killed": 8.000002}, abs=1e-9
    )
    assert analysis.processes.table["wall_s"].tolist() == [10.0] * 4
    assert analysis.processes.table["machine"].tolist() == ["host0", "host1", "host1", "host1"]
    # The last one ended 13 s after the clocks were compared.
    assert json.loads(json.dumps(document_of(analysis)))["machines"] == [
        {"machine": "host0", "boot_id": HERE.hex(), "processes": 1, "placed": "reference", "ahead_s": 0.0,
         "error_s": 0.0, "drift_ppm": 0.0, "unanswered": 0},
        {"machine": "host1", "boot_id": THERE.hex(), "processes": 3, "placed": "measured", "ahead_s": 299.999998,
         "error_s": 50e-6 + 13 * 15e-6, "drift_ppm": 0.0, "unanswered": 1},
    ]  # fmt: skip
    assert machine_lines(analysis.machines) == [
        "machine host1: its clock is 300 s ahead of that of `rlscope record`, and that is taken out of its "
        "times; what is left is at most 245 µs"
    ]


def test_the_same_machines_without_a_measurement(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", HERE, 1_095)
    process_of(writer, "there", THERE, 100, exchanges=[], unanswered=1)
    process_of(writer, "elsewhere", ELSEWHERE, 100)
    analysis = analyzed(writer)
    assert starts(analysis) == {"main": 0.0, "there": 305.0, "elsewhere": 305.0}
    assert list(analysis.why) == [
        "the clock of machine host1 was not measured (processes: 1, 1 asked for the time and had no answer): it is "
        "placed by its own clock, which may be off by any amount; let UDP through to the port of --clock-port",
        "the clock of machine host2 was not measured (processes: 1): it is placed by its own clock, which may be off "
        "by any amount; record with --clock-port",
    ]
    assert analysis.machines.table["placed"].tolist() == ["reference", "own clock", "own clock"]
    assert analysis.machines.table["ahead_s"].isna().tolist() == [False, True, True]
    assert machine_lines(analysis.machines) == []
    assert read_contents(open_trace(tmp_path)).why == analysis.why


def test_drift_changes_lengths(tmp_path: Path) -> None:
    """The clock there loses 1 ms in 10 s, so 10 s by it are longer."""
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", HERE, 1_095)
    last = {"monotonic_ns": 110 * S, "offset_ns": STARTED_LATER + 1_002_000, "error_ns": 50_000}
    process_of(writer, "there", THERE, 100, exchanges=[MEASURED, last], unanswered=0)
    analysis = analyzed(writer)
    assert analysis.processes.table["wall_s"].tolist() == pytest.approx([10.0, 10.001], abs=1e-9)
    assert starts(analysis)["there"] == pytest.approx(5.000002, abs=1e-9)
    assert analysis.machines.table["drift_ppm"].tolist() == [0.0, pytest.approx(-100)]
    assert analysis.breakdown.table["seconds"].tolist() == analysis.processes.table["wall_s"].tolist()
    assert "runs 100 ppm slower" in machine_lines(analysis.machines)[0]


def test_command_that_runs_elsewhere_altogether(tmp_path: Path) -> None:
    """As `srun` does from a login node: the manifest says what the time is there."""
    writer = TraceWriter(tmp_path)
    process_of(writer, "late", THERE, 107, exchanges=[MEASURED], unanswered=0)
    elsewhere = {"monotonic_ns": 100 * S, "offset_ns": STARTED_LATER + 5 * S, "error_ns": 0}
    process_of(writer, "early", ELSEWHERE, 100, exchanges=[elsewhere], unanswered=0)
    analysis = analyzed(writer)
    assert analysis.why == ()
    assert starts(analysis) == pytest.approx({"early": 0.0, "late": 2.000002}, abs=1e-9)
    assert analysis.machines.table["ahead_s"].tolist() == pytest.approx([299.999998, 295.0])


def test_offset_to_a_clock_that_nobody_knows_is_no_use(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", HERE, 1_095)
    process_of(writer, "there", THERE, 100, exchanges=[MEASURED], unanswered=0)
    analysis = analyzed(writer, {"main_pid": 1, "exit_status": 0, "complete": True})
    assert starts(analysis)["there"] == 305.0
    assert len(analysis.why) == 1


def test_process_ids_and_clocks_of_other_machines_do_not_choose_the_main_process(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", HERE, 2_000)
    process_of(writer, "there", THERE, 100)  # with the same process id
    assert [file.is_main for file in open_trace(writer.write(MANIFEST)).processes] == [False, True]
    # The command was a shell: the first process on its machine, whatever the clock of the other one says.
    assert [file.is_main for file in open_trace(writer.write(MANIFEST | {"main_pid": 99})).processes] == [False, True]
    tables = (analyze(open_trace(tmp_path)).processes.table, read_contents(open_trace(tmp_path)).processes.table)
    assert all(table["role"].tolist() == ["worker", "main"] for table in tables)


def test_machines_of_one_name(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", HERE, 1_095)
    for boot_id in (THERE, ELSEWHERE):
        process = process_of(writer, "worker", boot_id, 100)
        process.properties({"hostname": "node"})
    assert [row.machine for row in analyzed(writer).machines] == ["host0", "node (01010101)", "node (02020202)"]
