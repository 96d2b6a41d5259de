"""256 processes that are alive at once and end at once are 256 complete processes of the trace."""

import json
from pathlib import Path

import pytest
from scale_runs import complete_processes, record_at_scale

COUNT = 256


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("way", ["fork", "forkserver", "spawn", "subprocess"])
def test_nothing_is_lost(way: str, tmp_path: Path) -> None:
    printed = record_at_scale(tmp_path / "trace", "children.py", way, COUNT)
    children = {int(pid): name for pid, name in json.loads(printed).items()}
    assert len(children) == COUNT
    processes = complete_processes(tmp_path / "trace")
    for pid, name in children.items():
        assert processes[pid]["events"]["operation"] == 1
        assert processes[pid]["properties"].get("process_name", "") == name
        assert (processes[pid]["properties"].get("role") == "worker") is bool(name)
    services = {"fork": 0, "forkserver": 2, "spawn": 1, "subprocess": 0}[way]
    assert len(processes) == 1 + services + COUNT
