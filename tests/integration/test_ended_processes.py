"""Workers that their parent ends have lost nothing; of others that were killed nobody knows."""

import json
import re
from pathlib import Path

import pytest
from recording import record, rlscope


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_that_nobody_closed_are_complete(method: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "ended_workers.py", method, "closed")
    assert (recording.returncode, recording.stdout) == (0, "done\n"), recording.stderr
    analysis = recording.analysis
    assert analysis["complete"], recording.stderr
    assert "ncomplete" not in recording.stderr
    main = next(process for process in analysis["processes"] if process["role"] == "main")
    workers = [process for process in analysis["processes"] if "Process-" in process["process"]]
    assert len(workers) == 2
    for worker in workers:
        assert worker["complete"]
        assert recording.sweep_of(worker["process"])["events"]["operation"] == 5
        assert recording.sweep_of(worker["process"])["why"]  # its own file does not know
    inspected = json.loads(rlscope("inspect", recording.trace, "--json").stdout)
    said = [process["ended"] for process in inspected["processes"] if process["process"] != main["process"]]
    assert said.count(f"ended by process {main['pid']} (SIGTERM)") == 2
    assert (inspected["complete"], inspected["why"]) == (True, [])


@pytest.mark.parametrize(("how", "name"), [("killpg", "SIGTERM"), ("kill", "SIGKILL")])
def test_a_group_that_is_ended_is_complete(how: str, name: str, tmp_path: Path) -> None:
    """By `os.killpg`, and by `os.kill` of the group's number below zero."""
    recording = record(tmp_path / "trace", "ended_workers.py", "fork", how)
    assert (recording.returncode, recording.stdout) == (0, "done\n"), recording.stderr
    inspected = json.loads(rlscope("inspect", recording.trace, "--json").stdout)
    said = [process["ended"] for process in inspected["processes"]]
    (main,) = [process for process in inspected["processes"] if process["role"] == "main"]
    assert said.count(f"ended by process {main['pid']} ({name})") == 2
    assert (inspected["complete"], inspected["why"]) == (True, [])


@pytest.mark.parametrize(("how", "missing"), [("unknown", 2), ("survived", 1)])
def test_who_was_killed_otherwise_is_not_complete(how: str, missing: int, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "ended_workers.py", "fork", how)
    assert (recording.returncode, recording.stdout) == (0, "done\n"), recording.stderr
    assert not recording.analysis["complete"]
    assert sum(not process["complete"] for process in recording.analysis["processes"]) == missing


def test_actors_that_ray_ends_are_complete(tmp_path: Path) -> None:
    """One of two was killed before, which is not mistaken for that; nor is what Ray itself consists of."""
    pytest.importorskip("ray")
    recording = record(tmp_path / "trace", "ray_actors.py")
    assert recording.returncode == 0, recording.stderr
    (pids,) = re.findall(r"^\d+ \d+$", recording.stdout, re.MULTILINE)  # Ray writes there, too
    ended, killed = map(int, pids.split())
    inspected = json.loads(rlscope("inspect", recording.trace, "--json").stdout)
    processes = {process["pid"]: process for process in inspected["processes"]}
    (main,) = [process for process in inspected["processes"] if process["role"] == "main"]
    # As Ray shuts down, an actor may stop by itself before Ray ends it.
    assert processes[ended]["ended"] in ("stopped", f"ended by process {main['pid']} (Ray)")
    assert [process["pid"] for process in inspected["processes"] if not process["complete"]] == [killed]
