"""What is recorded of threads that run, that are blocked, and that end inside an operation."""

from pathlib import Path

import pytest
from calls import AbsentGap, absent_gaps
from recording import Recording, record

from rlscope import _analysis
from rlscope.trace.reader import open_trace

LENGTH_S = 0.5  # as in tests/scripts/blocked_threads.py


def run(program: str, tmp_path: Path) -> Recording:
    recording = record(tmp_path / "trace", "blocked_threads.py", program)
    assert recording.returncode == 0, recording.stderr
    return recording


def longest_gap(recording: Recording) -> AbsentGap:
    """Of the main process."""
    main = next(process for process in open_trace(recording.trace).processes if process.is_main)
    return max(absent_gaps(main.path), key=lambda gap: gap.blocked)


@pytest.mark.parametrize("operation", ["readline", "lines"])
def test_who_reads_a_line_that_has_not_come_waits(operation: str, tmp_path: Path) -> None:
    recording = run(operation, tmp_path)
    # The process that prints needs a moment to start, too.
    assert recording.seconds(operation=operation, category="wait") > 0.9 * LENGTH_S
    assert recording.seconds(operation=operation, category="python") < 0.3 * LENGTH_S


@pytest.mark.parametrize("function", ["usleep", "sigtimedwait"])
def test_a_native_call_that_nobody_listed_was_blocked_for_its_length(function: str, tmp_path: Path) -> None:
    gap = longest_gap(run(function, tmp_path))
    assert gap.blocked > 0.9 * gap.ticks
    assert gap.helped < 0.1 * gap.blocked


def test_processes_that_share_too_few_cpus_are_not_blocked(tmp_path: Path) -> None:
    recording = run("spinning", tmp_path)
    trace = open_trace(recording.trace)
    children = [process for process in trace.processes if not process.is_main]
    assert len(children) >= 3
    # A page of their memory may have had to come from a disk.
    assert recording.seconds(operation="spin", category="wait") < 0.02 * recording.seconds(operation="spin")
    for child in children:
        blocked = sum(gap.blocked for gap in absent_gaps(child.path))
        length = child.header.stop_ticks - child.header.start_ticks
        assert blocked < 0.02 * length


def test_two_threads_that_share_the_interpreter_fill_the_time_with_python(tmp_path: Path) -> None:
    recording = run("two_spinners", tmp_path)
    assert recording.layer_seconds("python", operation="spin") > 1.8 * LENGTH_S
    waits = recording.seconds(operation="spin", category="wait")
    assert waits < 0.1 * recording.layer_seconds("python", operation="spin")
    # Each by itself held the lock for half of it, with a core or waiting for one.
    (path,) = recording.files
    by_thread = vars(_analysis.sweep(str(path), by_thread=True))["threads"]
    blocked = sum(row[-1] for row in by_thread if row[3] == "spin" and row[4] == "wait")
    held = sum(row[-1] for row in by_thread if row[3] == "spin" and row[4] in ("python", "no_core"))
    assert 0.3 < blocked / held < 1.5


def test_a_thread_that_has_ended_owns_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    recording = run("ended_thread", tmp_path)
    of_main = recording.layer_seconds("backend", operation="inference")
    assert of_main > 0.5 * recording.seconds(operation="inference") > 0
    assert recording.seconds(operation="collect") < 0.2 * of_main
    main = next(process for process in open_trace(recording.trace).processes if process.is_main)
    assert main.header.misnested_operations == 1
