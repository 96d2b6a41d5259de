"""Processor time of operations is held against the thread's own clock, read in the same run."""

from pathlib import Path

import pytest
from recording import record

#: Of an operation, with what the stopwatch and the recorder take themselves.
TOLERANCE = 0.1


def test_operations_have_the_processor_time_of_their_thread(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "known_cpu_times.py")
    assert recording.returncode == 0, recording.stderr
    known = recording.printed
    rows = {row["operation"]: row for row in recording.analysis["cpu_times"]}
    counts = {operation: row["count"] for operation, row in rows.items()}
    assert counts == {"(none)": 0, "spins": 100, "sleeps": 100, "spins_and_sleeps": 100, "outer": 100, "short": 2000}
    for operation in ("spins", "spins_and_sleeps"):
        assert rows[operation]["cpu_s"] == pytest.approx(known[operation], rel=TOLERANCE), operation
    # What is no sleep, however long the thread waits for a core as well.
    for operation in ("sleeps", "spins_and_sleeps"):
        row = rows[operation]
        slept_s = 0.002 * 100 if operation == "sleeps" else 0.001 * 100
        assert row["seconds"] - row["cpu_s"] > slept_s, operation
    operations_s = sum(row["cpu_s"] for operation, row in rows.items() if operation != "(none)")
    assert operations_s == pytest.approx(known["all"], rel=TOLERANCE)


def test_threads_have_processor_time_of_their_own(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "known_cpu_threads.py")
    assert recording.returncode == 0, recording.stderr
    rows = {row["operation"]: row for row in recording.analysis["cpu_times"]}
    for operation, seconds in recording.printed.items():
        assert rows[operation]["cpu_s"] == pytest.approx(seconds, rel=TOLERANCE), operation
