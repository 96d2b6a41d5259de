"""What an event loop of uvloop waits for has a name, and what it calls is the program's Python."""

from collections.abc import Callable

import pytest
from recording import Recording


def test_what_uvloop_waits_for(record_pytorch: Callable[..., Recording]) -> None:
    recording = record_pytorch("uvloop_tasks.py")
    took = recording.printed
    rows = [row for row in recording.analysis["waits"] if row["function"] == "uvloop.loop.Loop.run_forever"]
    assert {row["kind"] for row in rows} == {"events"}
    waited = sum(row["wait_s"] for row in rows)
    assert recording.seconds(stage="inference", category="python") == pytest.approx(took["computed"], rel=0.2)
    assert waited + recording.seconds(stage="inference") == pytest.approx(took["ran"], rel=0.1)
    assert recording.seconds(stage="inference", category="wait") < 0.1 * waited
    assert recording.analysis["misnested_operations"] == 0


def test_without_the_layer_it_is_blocked(record_pytorch: Callable[..., Recording]) -> None:
    recording = record_pytorch("uvloop_tasks.py", options=("--layers", "backend"))
    assert not recording.analysis["waits"]
