"""What tensorboardX is given is logged."""

from collections.abc import Callable
from pathlib import Path

from recording import Recording


def test_what_a_writer_is_given_is_logged(record_pytorch: Callable[..., Recording], tmp_path: Path) -> None:
    recording = record_pytorch("tensorboardx_few.py", tmp_path / "logs")
    (row,) = (row for row in recording.analysis["durations"] if row["operation"] == "log")
    assert row["count"] == recording.printed["calls"] + 1  # and `close`
    inside = [row for row in recording.analysis["breakdown"] if row["phase"] == "measured"]
    logged_s = sum(row["seconds"] for row in inside if row["operation"] == "log")
    assert logged_s > 0.8 * sum(row["seconds"] for row in inside)
