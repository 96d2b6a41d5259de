"""A program that waits for batches of a DataLoader waits for its workers, whoever reads what they send."""

from pathlib import Path

import pytest
from recording import record

LOADER = "torch.utils.data.DataLoader.__next__"


@pytest.mark.parametrize("words", [(), ("pinned",)], ids=["read by the program", "read by a thread of it"])
def test_waits_for_batches_are_for_the_workers(words: tuple[str, ...], tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "loaded_batches.py", *words)
    assert recording.returncode == 0, recording.stderr
    assert recording.printed["batches"] == 20
    analysis = recording.analysis
    workers = {"DataLoader worker 0", "DataLoader worker 1"}
    assert {row["process"] for row in analysis["processes"]} == {"main", *workers}
    waits = [row for row in analysis["waits"] if row["process"] == "main" and row["function"] == LOADER]
    assert {row["kind"] for row in waits} == {"pipe"}
    assert len({row["stream"] for row in waits}) == 1
    links = [
        row for row in analysis["dependencies"] if row["process"] == "main" and row["stream"] == waits[0]["stream"]
    ]
    assert {row["on"] for row in links} == workers
    # Nobody works meanwhile; what passes between two waits is little, and may be without a core.
    rest = recording.printed["seconds"] - recording.seconds(process="main", category="no_core")
    assert sum(row["wait_s"] for row in links) >= 0.7 * rest
    assert sum(row["wait_s"] for row in waits) <= recording.printed["seconds"]
