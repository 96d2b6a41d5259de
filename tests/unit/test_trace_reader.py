"""Opening trace directories: complete, without a manifest, killed, damaged, empty."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.trace_writer import DEFAULT_BOOT_ID, TraceWriter
from rlscope.errors import TraceError, TraceFormatError
from rlscope.trace.format import EndReason
from rlscope.trace.reader import open_trace

MANIFEST: dict[str, Any] = {"main_pid": 7, "exit_status": 3, "complete": True}


def two_processes(directory: Path) -> TraceWriter:
    writer = TraceWriter(directory)
    writer.process(pid=7, start_ticks=100).stop(900)
    writer.process(pid=8, parent_pid=7, start_ticks=50).stop(800, EndReason.EXIT, 4)
    return writer


def test_processes_by_start(tmp_path: Path) -> None:
    trace = open_trace(two_processes(tmp_path).write(MANIFEST))
    assert trace.why == ()
    assert [(p.header.pid, p.is_main, p.exit_status) for p in trace.processes] == [(8, False, 4), (7, True, 3)]


def test_without_manifest_the_first_process_is_the_main_one(tmp_path: Path) -> None:
    trace = open_trace(two_processes(tmp_path).write())
    assert "no manifest.json" in trace.why[0]
    assert [(p.header.pid, p.is_main, p.exit_status) for p in trace.processes] == [(8, True, 4), (7, False, None)]


def test_incomplete_manifest(tmp_path: Path) -> None:
    trace = open_trace(two_processes(tmp_path).write(MANIFEST | {"complete": False, "exit_status": None}))
    assert "not complete" in trace.why[0]
    assert trace.processes[1].exit_status is None


@pytest.mark.parametrize(
    ("machine", "limit"),
    [({"boot_id": "00010203-0405-0607-0809-0a0b0c0d0e0f"}, 5_000), ({"boot_id": "ff" * 16}, 0), (None, 5_000)],
)
def test_exit_seen_by_record_limits_the_main_process(machine: object, limit: int, tmp_path: Path) -> None:
    assert DEFAULT_BOOT_ID.hex().startswith("000102")
    manifest = MANIFEST | {"end": {"monotonic_ns": 5_000, "realtime_ns": 1}, "machine": machine}
    trace = open_trace(two_processes(tmp_path).write(manifest))
    assert [process.limit_ticks for process in trace.processes] == [0, limit]


def test_process_id_that_came_back(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    writer.process(pid=7, start_ticks=100).stop(200)
    writer.process(pid=7, start_ticks=300).stop(400)
    trace = open_trace(writer.write(MANIFEST))
    assert [(p.path.name, p.is_main) for p in trace.processes] == [("7-0.rlscope", False), ("7-1.rlscope", True)]


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"was expected at .*there is none; record one with"):
        open_trace(tmp_path / "missing")


def test_no_trace(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(TraceError, match=r"holds no PID-N\.rlscope file; record one with"):
        open_trace(tmp_path)


def test_process_killed_before_its_header(tmp_path: Path) -> None:
    two_processes(tmp_path).write(MANIFEST)
    (tmp_path / "9-0.rlscope").write_bytes(bytes(4096))
    trace = open_trace(tmp_path)
    assert len(trace.processes) == 2
    assert "killed as recording began" in trace.why[0]


@pytest.mark.parametrize(("offset", "found"), [(0, "does not start with RLSCOPE"), (8, "has format version")])
def test_file_of_another_kind(offset: int, found: str, tmp_path: Path) -> None:
    two_processes(tmp_path).write(MANIFEST)
    path = tmp_path / "8-0.rlscope"
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x40
    path.write_bytes(data)
    with pytest.raises(TraceFormatError, match=found):
        open_trace(tmp_path)
    trace = open_trace(tmp_path, recover=True)
    assert [process.header.pid for process in trace.processes] == [7]
    assert found in trace.why[0]
