"""Who waited for whom: pipes and queues between processes whose ends were both recorded."""

import json
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
from rlscope.model import Category
from rlscope.trace.reader import open_trace

READ, WRITE = "posix.read", "posix.write"
RECV, SEND = "_socket.socket.recv", "_socket.socket.sendall"
COLUMNS = ["process", "phase", "on", "stream", "count", "wait_s"]
Wait = tuple[str, int, int]  # name of the boundary, start and end


def process_of(
    writer: TraceWriter, name: str, waits: list[Wait], pid: int | None = None, boot_id: bytes = bytes(16)
) -> ProcessWriter:
    """A process of 10 us that waits so."""
    process = writer.process(pid=pid or len(writer.processes) + 1, boot_id=boot_id, name=name)
    thread = process.thread()
    for boundary, start, end in waits:
        thread.boundary(start, end, Category.WAIT, boundary)
    process.stop(10_000)
    return process


def written(writer: TraceWriter) -> Analysis:
    return analyze(open_trace(writer.write_complete()))


def rows(table: pd.DataFrame) -> list[list[Any]]:
    return [list(row) for row in table.itertuples(index=False)]


def test_a_pipe(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", [(f"{READ} pipe:[7]", 100, 400), ("time.sleep", 500, 600)])
    process_of(writer, "worker", [(f"{WRITE} pipe:[7]", 390, 400), (f"{WRITE} pipe:[8]", 500, 510)])
    analysis = written(writer)
    assert analysis.waits.table.columns.tolist() == [
        "process", "phase", "function", "stream", "kind", "count", "wait_s", "in_operations_s", "in_loop_s",
    ]  # fmt: skip
    assert sorted(rows(analysis.waits.table)) == [
        ["main", "(none)", READ, "pipe:[7]", "pipe", 1, pytest.approx(3e-7), 0, 0],
        ["main", "(none)", "time.sleep", "", "timer", 1, pytest.approx(1e-7), 0, 0],
        ["worker", "(none)", WRITE, "pipe:[7]", "pipe", 1, pytest.approx(1e-8), 0, 0],
        ["worker", "(none)", WRITE, "pipe:[8]", "pipe", 1, pytest.approx(1e-8), 0, 0],
    ]
    assert analysis.dependencies.table.columns.tolist() == COLUMNS
    assert rows(analysis.dependencies.table) == [
        ["main", "(none)", "worker", "pipe:[7]", 1, pytest.approx(3e-7)],
        ["worker", "(none)", "main", "pipe:[7]", 1, pytest.approx(1e-8)],  # a write waits for the reader
    ]
    document = json.loads(json.dumps(document_of(analysis)))
    assert document["dependencies"][0]["on"] == "worker"
    assert len(document["waits"]) == 4


def test_a_socket_goes_both_ways(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", [(f"{SEND} socket:[7]", 100, 110), (f"{RECV} socket:[7]", 110, 410)])
    process_of(writer, "worker", [(f"{RECV} socket:[7]", 0, 200), (f"{SEND} socket:[7]", 400, 410)])
    found = written(writer).dependencies.table
    assert rows(found[["process", "on", "wait_s"]]) == [
        ["main", "worker", pytest.approx(3.1e-7)],
        ["worker", "main", pytest.approx(2.1e-7)],
    ]


def test_several_senders_share_a_wait_by_how_often_they_sent(tmp_path: Path) -> None:
    """Three messages of the one and one of the other; what the receiver sent itself does not count."""
    writer = TraceWriter(tmp_path)
    receives = [(f"{READ} pipe:[7]", start, start + 100) for start in (1000, 2000, 3000, 4000)]
    process_of(writer, "main", [(f"{WRITE} pipe:[7]", 0, 10), *receives])
    process_of(writer, "often", [(f"{WRITE} pipe:[7]", start, start + 10) for start in (1000, 2000, 3000)])
    process_of(writer, "once", [(f"{WRITE} pipe:[7]", 4000, 4010)])
    assert rows(written(writer).dependencies.table) == [
        ["main", "(none)", "often", "pipe:[7]", 3, pytest.approx(3e-7)],
        ["main", "(none)", "once", "pipe:[7]", 1, pytest.approx(1e-7)],
        ["often", "(none)", "main", "pipe:[7]", 3, pytest.approx(3e-8)],
        ["once", "(none)", "main", "pipe:[7]", 1, pytest.approx(1e-8)],
    ]


def test_several_receivers_share_a_wait_for_room_by_how_often_they_received(tmp_path: Path) -> None:
    """A pipe that is full: who writes to it waits for those that read from it."""
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", [(f"{WRITE} pipe:[7]", 0, 4000)])
    process_of(writer, "often", [(f"{READ} pipe:[7]", start, start) for start in (1000, 2000, 3000)])
    process_of(writer, "once", [(f"{READ} pipe:[7]", 4000, 4000)])
    found = written(writer).dependencies.table
    assert rows(found[found["process"] == "main"][["on", "count", "wait_s"]]) == [
        ["often", 0.75, pytest.approx(3e-6)],
        ["once", 0.25, pytest.approx(1e-6)],
    ]


def test_waits_belong_to_the_phase_they_were_in(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    main = writer.process(pid=1, boot_id=bytes(16), name="main")
    thread = main.thread()
    for phase, start in (("self_play", 100), ("training", 1000)):
        thread.begin_phase(start, phase)
        for function in ("recv", "recv_into"):
            thread.begin_boundary(start, Category.WAIT, f"_socket.socket.{function} socket:[7]")
            start += 200
            thread.end(start)
        thread.end(start)
    main.stop(10_000)
    process_of(writer, "worker", [(f"{SEND} socket:[7]", 0, 10)])
    found = written(writer).dependencies.table
    assert rows(found.loc[found["process"] == "main", ["phase", "count", "wait_s"]]) == [
        ["self_play", 2, pytest.approx(4e-7)],
        ["training", 2, pytest.approx(4e-7)],
    ]


def test_a_process_never_waits_for_itself(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", [(f"{WRITE} pipe:[7]", 0, 10), (f"{READ} pipe:[7]", 10, 30)])
    assert written(writer).dependencies.table.empty


def test_names_that_collide(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    process_of(writer, "worker", [(f"{READ} pipe:[7]", 0, 10)], pid=5)
    process_of(writer, "worker", [(f"{WRITE} pipe:[7]", 0, 10)], pid=6)
    assert rows(written(writer).dependencies.table[["process", "on"]]) == [
        ["worker (5)", "worker (6)"],
        ["worker (6)", "worker (5)"],
    ]


@pytest.mark.parametrize(
    ("stream", "is_same"),
    [
        ("pipe:[7]", False),
        ("socket:[7]", False),
        ("tcp:10.0.0.1:5000-10.0.0.2:6000", True),
        ("udp:[fd00::1]:5000-[fd00::2]:6000", True),
        ("tcp:127.0.0.1:5000-127.0.0.1:6000", False),
        ("tcp:[::ffff:127.0.0.1]:5000-[::ffff:127.0.0.1]:6000", False),
        ("tcp:[::1]:5000-[::1]:6000", False),
    ],
)
def test_streams_of_two_machines(tmp_path: Path, stream: str, is_same: bool) -> None:
    """The same number, or the same address of loopback, is another stream on another machine."""
    writer = TraceWriter(tmp_path)
    process_of(writer, "main", [(f"{RECV} {stream}", 0, 10)])
    process_of(writer, "worker", [(f"{SEND} {stream}", 0, 10)], boot_id=bytes([1] * 16))
    assert len(written(writer).dependencies.table) == 2 * is_same  # each for the other


STREAMS = ("pipe:[7]", "socket:[8]", "tcp:10.0.0.1:1-10.0.0.2:2")
FUNCTIONS = (READ, WRITE, RECV, SEND)
NAMES = st.sampled_from([*(f"{function} {stream}" for function in FUNCTIONS for stream in STREAMS), "time.sleep"])
THREADS = st.lists(st.tuples(NAMES, st.sampled_from(("play", "train", "")), st.integers(0, 50)), max_size=8)


@given(st.lists(st.lists(THREADS, min_size=1, max_size=2), min_size=1, max_size=3))
@settings(max_examples=25, deadline=None)
def test_waits_sum_to_the_breakdown(processes: list[list[list[tuple[str, str, int]]]]) -> None:
    """Whatever threads wait in; and no more is shared out than was waited on streams that others use."""
    with TemporaryDirectory() as directory:
        analysis = of_threads(Path(directory), processes)
    is_wait = analysis.breakdown.table["category"] == "wait"
    expected = analysis.breakdown.table[is_wait].groupby("process")["seconds"].sum()
    found = analysis.waits.table.groupby("process")["wait_s"].sum()
    for process in analysis.processes.table["process"]:
        assert found.get(process, 0) == pytest.approx(expected.get(process, 0), abs=1e-15)
    keys = ["process", "phase", "stream"]
    shared = analysis.dependencies.table.groupby(keys)[["count", "wait_s"]].sum()
    on_streams = analysis.waits.table[analysis.waits.table["stream"] != ""]
    is_send = on_streams["function"].isin([WRITE, SEND])
    used = [
        row
        for row, sends in zip(on_streams.itertuples(index=False), is_send, strict=True)
        if len({*on_streams.loc[(is_send != sends) & (on_streams["stream"] == row.stream), "process"]} - {row.process})
    ]
    expected = pd.DataFrame(used, columns=on_streams.columns).groupby(keys)[["count", "wait_s"]].sum()
    # Shares of a count are rounded, so whole numbers are compared as other ones are.
    shared, expected = (table.sort_index().astype(float) for table in (shared, expected))
    pd.testing.assert_frame_equal(shared, expected, check_index_type=False)


def of_threads(directory: Path, processes: list[list[list[tuple[str, str, int]]]]) -> Analysis:
    """Processes whose threads wait one time after the other, some times in a phase of its own."""
    writer = TraceWriter(directory)
    for pid, threads in enumerate(processes, start=1):
        process = writer.process(pid=pid)
        for waits in threads:
            thread, ticks = process.thread(), 0
            for name, phase, length in waits:
                if phase:
                    thread.begin_phase(ticks, phase)
                thread.begin_boundary(ticks, Category.WAIT, name)
                ticks += length
                thread.end(ticks)
                if phase:
                    thread.end(ticks + 1)
                ticks += 2
        process.stop(1000)
    return written(writer)
