"""Bytes that processes send each other are those that both ends counted, by stage, in either direction."""

from pathlib import Path

from recording import record


def test_both_ends_of_a_socket_have_the_same_bytes(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "known_messages.py")
    assert recording.returncode == 0, recording.stderr
    known = recording.printed
    rows = {
        (row["process"], row["stage"], row["is_sent"], row["peer"]): row
        for row in recording.analysis["messages"]
        if row["peer"]
    }
    assert {key: row["bytes"] for key, row in rows.items()} == {
        ("main", "inference", True, "answering"): known["sent"],
        ("answering", "(none)", False, "main"): known["sent"],
        ("answering", "simulation", True, "main"): known["received"],
        ("main", "(none)", False, "answering"): known["received"],
    }
    assert rows["main", "inference", True, "answering"]["count"] == 10
