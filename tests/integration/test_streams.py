"""Processes that talk to each other: who receives from a stream and who sends to it have one name for it."""

import json
from collections import Counter
from pathlib import Path

import pytest
from calls import count_calls
from recording import record

from rlscope.trace.reader import open_trace

MESSAGES = 5
MOST_STREAMS = 4096
RECEIVE = ("posix.read", "_socket.socket.recv")
SEND = ("posix.write", "_socket.socket.sendall")


def used(calls: Counter[str], functions: tuple[str, ...], stream: str) -> int:
    return sum(calls[f"{function} {stream}"] for function in functions)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_both_ends_have_one_name(method: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "streams.py", method)
    assert recording.returncode == 0, recording.stderr
    streams = json.loads(recording.stdout)
    trace = open_trace(recording.trace)
    parent = next(process for process in trace.processes if process.is_main)
    calls = {process.path: count_calls(process.path) for process in trace.processes}
    of_parent = calls.pop(parent.path)
    for stream in streams["parent"]:
        assert used(of_parent, RECEIVE, stream) >= MESSAGES
        senders = [path for path, of_child in calls.items() if used(of_child, SEND, stream)]
        assert len(senders) == 1
        assert used(calls[senders[0]], SEND, stream) >= MESSAGES
    for stream in streams["child"]:
        assert used(of_parent, SEND, stream) >= MESSAGES
        assert [path for path, of_child in calls.items() if used(of_child, RECEIVE, stream)] == senders


def test_the_trace_is_not_filled_with_names(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "many_pipes.py", MOST_STREAMS + 100)
    assert recording.returncode == 0, recording.stderr
    (file,) = recording.files
    calls = count_calls(file)
    assert len([name for name in calls if name.startswith("posix.write pipe:[")]) == MOST_STREAMS
    assert calls["posix.write"] == 100
