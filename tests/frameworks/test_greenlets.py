"""Greenlets, as gevent's are: each has its own open operations, also where the program follows switches itself."""

import json
from pathlib import Path

from framework_runs import PROGRAMS, record_in, run_in


def test_operations_of_greenlets_that_take_turns(tmp_path: Path) -> None:
    recording = record_in("others", tmp_path / "trace", "greenlets.py")
    printed = recording.printed
    entries = recording.entries(target="simulator")
    assert {operation: count for (_, operation), count in entries.items()} == printed["calls"]
    assert recording.analysis["misnested_operations"] == 0
    plain = run_in("others", PROGRAMS / "greenlets.py")
    assert json.loads(plain.stdout) == printed
