"""Processes that send to each other: the trace says who waited for whom, by every kind of stream."""

import json
from pathlib import Path

import pytest
from recording import record

MESSAGES = 5


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_both_ends_of_a_stream_wait_for_each_other(method: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "streams.py", method)
    assert recording.returncode == 0, recording.stderr
    streams = json.loads(recording.stdout)
    processes = {process["process"]: process for process in recording.analysis["processes"]}
    (child,) = (name for name in processes if "Process-1" in name)
    assert (processes[child]["parent"], processes["main"]["parent"]) == ("main", None)
    edges = {
        (edge["process"], edge["on"], edge["stream"]): edge["count"]
        for edge in recording.analysis["dependencies"]
        if edge["stream"] in {*streams["parent"], *streams["child"]}
    }
    # Who receives waits for who sends, and who sends, if the stream is full, for who receives.
    assert set(edges) == {
        edge
        for stream in {*streams["parent"], *streams["child"]}
        for edge in (("main", child, stream), (child, "main", stream))
    }
    assert all(count >= MESSAGES for count in edges.values())
    for process in processes:
        waited = sum(row["wait_s"] for row in recording.analysis["waits"] if row["process"] == process)
        # Each row is rounded to a nanosecond.
        assert waited == pytest.approx(recording.seconds(process=process, category="wait"), abs=1e-8)


def test_both_ends_of_a_connection_of_asyncio_are_seen(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "asyncio_streams.py")
    assert recording.returncode == 0, recording.stderr
    edges = {
        (edge["process"], edge["on"]): edge["count"]
        for edge in recording.analysis["dependencies"]
        if edge["stream"] == recording.stdout.strip()
    }
    (child,) = (row["process"] for row in recording.analysis["processes"] if "Process-1" in row["process"])
    assert set(edges) == {("main", child), (child, "main")}
    assert all(count >= MESSAGES for count in edges.values())
