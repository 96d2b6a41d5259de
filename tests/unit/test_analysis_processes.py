"""Several processes of a trace: their tree, their phases, stragglers, and times on machines with other clocks."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.trace_writer import ProcessWriter, TraceWriter
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.document import document_of
from rlscope.analysis.rows import sums
from rlscope.analysis.table_rows import PhaseRow
from rlscope.analysis.tables.processes import as_tree, phase_groups
from rlscope.errors import TraceError
from rlscope.model import Category, DeviceWork
from rlscope.report.process_tables import TOTALS, process_tree
from rlscope.trace.format import EndReason
from rlscope.trace.reader import open_trace
from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME

S = 1_000_000_000
MINUTE = 60 * S


def named(
    writer: TraceWriter, name: str, pid: int, parent_pid: int = 0, start: int = 0, boot_id: bytes = bytes(16)
) -> ProcessWriter:
    process = writer.process(pid=pid, parent_pid=parent_pid, start_ticks=start, boot_id=boot_id, name=name)
    return process


def written(writer: TraceWriter) -> Analysis:
    return analyze(open_trace(writer.write_complete()))


def rows(table: pd.DataFrame) -> list[list[Any]]:
    return [list(row) for row in table.itertuples(index=False)]


def near(*values: float) -> list[Any]:
    return [pytest.approx(value) for value in values]


def parent_of(analysis: Analysis) -> dict[str, str | None]:
    return dict(zip(analysis.processes.table["process"], analysis.processes.table["parent"], strict=True))


def test_the_tree_has_children_under_their_parents_by_start(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    # Started by a process that was not recorded, and one whose name is taken.
    for name, pid, parent_pid, start in (
        ("main", 1, 99, 0), ("server", 2, 1, 10), ("worker", 3, 1, 20), ("helper", 4, 2, 30), ("worker", 5, 1, 15),
        ("stray", 6, 98, 40),
    ):  # fmt: skip
        named(writer, name, pid, parent_pid, start).stop(100)
    analysis = written(writer)
    assert [(depth, row.process) for depth, row in as_tree(analysis.processes)] == [
        (0, "main"), (1, "server"), (2, "helper"), (1, "worker (5)"), (1, "worker (3)"), (0, "stray"),
    ]  # fmt: skip
    assert parent_of(analysis)["stray"] is None
    assert json.loads(json.dumps(document_of(analysis)))["processes"][1]["parent"] == "main"


def test_a_reused_process_id_is_the_parent_that_was_alive(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    named(writer, "before", 1, start=0).stop(100)
    named(writer, "first child", 2, 1, start=50).stop(60)
    named(writer, "orphan", 3, 1, start=150).stop(160)  # its parent has the id 1 too, and is not recorded
    named(writer, "after", 1, start=200).stop(300)
    named(writer, "second child", 4, 1, start=250).stop(260)
    named(writer, "elsewhere", 5, 1, start=260, boot_id=bytes([1] * 16)).stop(270)
    assert parent_of(written(writer)) == {
        "before": None, "first child": "before", "orphan": None, "after": None, "second child": "after",
        "elsewhere": None,
    }  # fmt: skip


def test_a_killed_parent_may_have_lived_past_its_last_record(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    parent = named(writer, "parent", 1)
    parent.thread().begin_operation(10, "training_loop")
    named(writer, "child", 2, 1, start=50).stop(60)
    assert parent_of(written(writer)) == {"parent": None, "child": "parent"}


def self_play(directory: Path) -> TraceWriter:
    """Three workers that play until 300, 500 and 900 ns, and a trainer that waits for them."""
    writer = TraceWriter(directory)
    for number, end in enumerate((300, 500, 900)):
        worker = named(writer, f"worker_{number}", 2 + number, 1, start=100)
        thread = worker.thread()
        thread.begin_phase(100 + 10 * number, "self_play")
        thread.boundary(200, 250, Category.WAIT, "time.sleep")
        thread.end(end)
        worker.stop(1000)
    trainer = named(writer, "trainer", 1)
    thread = trainer.thread()
    thread.begin_phase(0, "training")
    thread.phase(400, 700, "evaluation")
    thread.boundary(750, 850, Category.CUDA_WAIT, "cudaStreamSynchronize")
    thread.end(1000)
    trainer.queue(0).record(DeviceWork.KERNEL, 700, 800, "gemm")
    trainer.stop(1000)
    return writer


def test_phases(tmp_path: Path) -> None:
    phases = written(self_play(tmp_path)).phases.table
    assert phases.columns.tolist() == ["process", "phase", "start_s", "end_s", "wall_s", "cpu_s", "gpu_s", "wait_s"]
    of_worker = phases[phases["process"] == "worker_1"]
    # The time in no phase goes from 100 to 110 and from 500 to 1000.
    assert rows(of_worker) == [
        ["worker_1", "(none)", *near(1e-7, 1e-6, 5.1e-7, 5.1e-7, 0, 0)],
        ["worker_1", "self_play", *near(1.1e-7, 5e-7, 3.9e-7, 3.4e-7, 0, 5e-8)],
    ]
    # An inner phase suspends the outer one; the trainer is never in no phase. Waiting for a device is no wait.
    assert rows(phases[phases["process"] == "trainer"]) == [
        ["trainer", "training", *near(0, 1e-6, 7e-7, 6.5e-7, 1e-7, 0)],
        ["trainer", "evaluation", *near(4e-7, 7e-7, 3e-7, 3e-7, 0, 0)],
    ]


def test_totals_of_a_process_are_those_of_its_phases(tmp_path: Path) -> None:
    analysis = written(self_play(tmp_path))
    walls = sums((row.process, row.wall_s) for row in analysis.phases)
    assert walls == pytest.approx({row.process: row.wall_s for row in analysis.processes}, rel=1e-12)
    (trainer,) = (row for row in process_tree(analysis) if str(row["process"]).strip() == "trainer")
    assert [trainer[name] for name in TOTALS] == pytest.approx([9.5e-7, 1e-7, 0])


def test_the_straggler_ends_a_phase_last(tmp_path: Path) -> None:
    groups = phase_groups(written(self_play(tmp_path)).phases).table.set_index("phase")
    assert groups.index.tolist() == ["training", "self_play", "evaluation"]
    assert groups.loc["self_play"].tolist() == [3, *near(2e-7, 3.9e-7, 7.8e-7), "worker_2",
                                                pytest.approx(4e-7)]  # fmt: skip
    assert groups.loc["training", "processes"] == 1
    assert groups.loc["training", ["straggler", "late_s"]].isna().all()


def test_two_processes_have_no_straggler() -> None:
    phases = [PhaseRow(name, "play", 0.0, end_s, end_s, 0.0, 0.0, 0.0) for name, end_s in (("a", 1.0), ("b", 9.0))]
    assert [(group.straggler, group.late_s) for group in phase_groups(phases)] == [(None, None)]
    assert not phase_groups([])


def test_clocks_five_minutes_apart(tmp_path: Path) -> None:
    """Each machine's times are from its own real-time clock; lengths do not depend on it."""
    writer = TraceWriter(tmp_path)
    for name, pid, offset in (("here", 1, 0), ("there", 2, 5 * MINUTE)):
        process = named(writer, name, pid, start=10 * S, boot_id=bytes([pid] * 16))
        pair = process.header.first_pair
        pair = replace(pair, realtime_ns=pair.realtime_ns + offset)
        process.header = replace(process.header, first_pair=pair, last_pair=pair)
        thread = process.thread()
        thread.phase(11 * S, 13 * S, "self_play")
        process.properties({"devices": {"0": {"uuid": "GPU-a" if pid == 1 else "GPU-b"}}})
        process.queue(0).record(DeviceWork.KERNEL, 12 * S, 13 * S, "gemm")
        process.stop(14 * S)
    analysis = written(writer)
    assert analysis.processes.table["start_s"].tolist() == [0, 300]
    assert analysis.processes.table["wall_s"].tolist() == [4, 4]
    played = analysis.phases.table[analysis.phases.table["phase"] == "self_play"]
    assert rows(played[["process", "start_s", "end_s", "wall_s"]]) == [["here", 1, 3, 2], ["there", 301, 303, 2]]
    timeline = analysis.device_timeline.table
    seconds = timeline["busy"] * (timeline["end_s"] - timeline["start_s"])
    assert seconds.groupby(timeline["device"]).sum().tolist() == pytest.approx([1, 1])
    busy = timeline[timeline["busy"] > 0].groupby("device")
    assert (busy["start_s"].min() <= [2, 302]).all() and (busy["end_s"].max() >= [3, 303]).all()
    assert (busy["end_s"].max() - busy["start_s"].min() < 1 + 2 * 304 / 200).all()


def test_a_killed_worker(tmp_path: Path) -> None:
    writer = self_play(tmp_path)
    killed = named(writer, "worker_3", 9, 1, start=100)
    thread = killed.thread()
    thread.begin_phase(150, "self_play")
    thread.boundary(200, 600, Category.WAIT, "_socket.socket.recv socket:[5]")
    thread.begin_boundary(620, Category.WAIT, "_socket.socket.recv socket:[5]")
    thread.begin_operation(700, "mcts")
    analysis = written(writer)
    assert not analysis.complete
    complete = analysis.processes.table.set_index("process")["complete"]
    assert complete[~complete].index.tolist() == ["worker_3"]
    of_killed = analysis.phases.table[analysis.phases.table["process"] == "worker_3"]
    assert of_killed["phase"].tolist() == ["(none)", "self_play"]
    assert of_killed["end_s"].tolist() == pytest.approx([7e-7, 7e-7])
    assert of_killed["wait_s"].sum() == pytest.approx(4.8e-7)
    assert rows(written(self_play(tmp_path / "whole")).phases.table) == rows(
        analysis.phases.table[analysis.phases.table["process"] != "worker_3"]
    )


def test_device_timeline_is_a_union_over_processes(tmp_path: Path) -> None:
    """In 20 us, of which each part is 100 ns, two processes use one device from 1000 to 1150 and from 1100 to 1300."""
    writer = TraceWriter(tmp_path)
    for pid, start, end in ((1, 1_000, 1_150), (2, 1_100, 1_300)):
        process = named(writer, f"process {pid}", pid)
        process.properties({"devices": {"0": {"uuid": "GPU-a"}}})
        process.queue(0).record(DeviceWork.KERNEL, start, end, "gemm")
        process.stop(20_000)
    directory = writer.write_complete()
    (directory / UTILIZATION_NAME).write_text(f"{HEADER}\n1000,GPU-a,0,\n1250,GPU-a,1.0,\n1300,GPU-a,0.5,\n")
    analysis = analyze(open_trace(directory))
    timeline = analysis.device_timeline.table
    assert timeline.columns.tolist() == ["device", "start_s", "end_s", "busy", "exposed", "reported"]
    assert len(timeline) == 200
    assert rows(timeline.iloc[10:13]) == [
        [0, *near(1.0e-6, 1.1e-6, 1, 0, 1)],
        [0, *near(1.1e-6, 1.2e-6, 1, 0, 1)],
        [0, *near(1.2e-6, 1.3e-6, 1, 0, 0.75)],
    ]
    assert timeline["busy"].sum() == pytest.approx(3)
    assert timeline["reported"].notna().sum() == 3
    assert analysis.gpu.table["busy_s"].tolist() == pytest.approx([3e-7])


@pytest.mark.parametrize(
    ("used", "numbers"),
    [
        # (machine, uuid, what the recorder says of the number), in the order of processes
        ([(1, "GPU-b", 1), (1, "GPU-a", 0)], {"GPU-a": 0, "GPU-b": 1}),
        ([(1, "GPU-c", 3)], {"GPU-c": 3}),  # CUDA_VISIBLE_DEVICES=3 makes it CUDA's 0
        ([(1, "GPU-c", 3), (1, "GPU-c", 3)], {"GPU-c": 3}),
        ([(1, "GPU-a", 0), (2, "GPU-b", 0)], {"GPU-a": 0, "GPU-b": 1}),  # of two machines each number is there once
        ([(1, "GPU-a", None), (1, "GPU-b", 0)], {"GPU-b": 0, "GPU-a": 1}),
        ([(1, "GPU-a", "0"), (1, "GPU-b", -1), (1, "GPU-c", True)], {"GPU-a": 0, "GPU-b": 1, "GPU-c": 2}),
    ],
)
def test_devices_have_the_numbers_of_the_driver(
    used: list[tuple[int, str, object]], numbers: dict[str, int], tmp_path: Path
) -> None:
    writer = TraceWriter(tmp_path)
    for pid, (machine, uuid, number) in enumerate(used, 1):
        process = named(writer, f"process {pid}", pid, boot_id=bytes([machine] * 16))
        process.properties({"devices": {"0": {"uuid": uuid, "number": number}}})
        process.queue(0).record(DeviceWork.KERNEL, 100, 200, "gemm")
        process.stop(1000)
    found = analyze(open_trace(writer.write_complete())).gpu
    assert {row.uuid: row.device for row in found} == numbers
    assert [row.device for row in found] == sorted(numbers.values())


def test_without_devices_there_is_no_timeline(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    named(writer, "main", 1).stop(0)  # and without time no phase
    analysis = written(writer)
    assert analysis.device_timeline.table.columns.tolist() == [
        "device",
        "start_s",
        "end_s",
        "busy",
        "exposed",
        "reported",
    ]
    assert analysis.device_timeline.table.empty and analysis.phases.table.empty and analysis.waits.table.empty
    assert analysis.dependencies.table.empty


@pytest.mark.parametrize("realtime_ns", [1 << 62, (1 << 64) - 1])
def test_times_that_cannot_be(tmp_path: Path, realtime_ns: int) -> None:
    writer = TraceWriter(tmp_path)
    process = named(writer, "main", 1)
    pair = replace(process.header.first_pair, realtime_ns=realtime_ns)
    process.header = replace(process.header, first_pair=pair, last_pair=pair)
    process.queue(0).record(DeviceWork.KERNEL, 0, 1, "gemm")
    process.stop(2)
    with pytest.raises(TraceError, match=r"times from 1970 to 2116 were expected, but .*1-0\.rlscope says"):
        written(writer)


WORK = st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 3_000)), min_size=1, max_size=8)


@given(st.lists(WORK, min_size=1, max_size=3), st.integers(1, 6_000))
@settings(max_examples=25, deadline=None)
def test_parts_of_the_timeline_sum_to_the_busy_time(processes: Iterable[list[tuple[int, int]]], end: int) -> None:
    writer = TraceWriter(Path())
    busy: set[int] = set()
    for pid, work in enumerate(processes, start=1):
        process = named(writer, f"process {pid}", pid)
        queue = process.queue(0)
        for start, length in work:
            queue.record(DeviceWork.KERNEL, start, start + length, "gemm")
            busy |= set(range(start, min(start + length, end)))
        process.stop(end, EndReason.EXIT)
    with TemporaryDirectory() as directory:
        writer.directory = Path(directory)
        analysis = written(writer)
    timeline = analysis.device_timeline.table
    seconds = timeline["busy"] * (timeline["end_s"] - timeline["start_s"])
    assert analysis.gpu.table["busy_s"].sum() == pytest.approx(len(busy) / S)
    assert seconds.sum() == pytest.approx(len(busy) / S)
