"""64 Ray actors are 64 processes of the trace, named after their class, each with its work and its waiting."""

import json
from pathlib import Path

import pytest
from scale_runs import lossless_processes, record_at_scale

COUNT = 64
TASK_LOOP = "ray._raylet.CoreWorker.run_task_loop"


@pytest.mark.timeout(3600)
def test_no_actor_is_lost(tmp_path: Path) -> None:
    record_at_scale(tmp_path / "trace", "actors.py", COUNT, tmp_path / "pids.json")
    pids = json.loads((tmp_path / "pids.json").read_text())
    assert len(set(pids)) == COUNT
    processes = lossless_processes(tmp_path / "trace")
    for pid in pids:
        properties, crossings = processes[pid]["properties"], processes[pid]["crossings"]
        assert (properties["role"], properties["process_name"]) == ("worker", "Player")
        assert processes[pid]["events"]["operation"] == 1
        assert (crossings[TASK_LOOP], crossings["ray.remote(__init__)"], crossings["ray.remote(play)"]) == (1, 1, 1)
    drivers = [p for p in processes.values() if "ray._raylet.CoreWorker.wait" in p["crossings"]]
    assert len(drivers) == 1
    assert drivers[0]["crossings"]["ray._raylet.CoreWorker.get_objects"] >= 1
    counted = [p["events"]["operation"] for p in processes.values() if "ray.remote(__main__.count)" in p["crossings"]]
    assert counted == [3]
    services = {p["properties"].get("process_name") for p in processes.values()} - {None, "Player", "ray_worker"}
    assert "ray_log_monitor" in services
