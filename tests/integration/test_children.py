"""Every way to start a process: 64 children are 64 processes of the trace, each with what it did."""

import re
from pathlib import Path

import pytest
from recording import record

COUNT = 64
WAYS = [
    "fork",
    "subprocess",
    "process-fork",
    "process-forkserver",
    "process-spawn",
    "pool-fork",
    "pool-spawn",
    "executor-fork",
    "executor-spawn",
]


@pytest.mark.parametrize("way", WAYS)
def test_no_child_is_lost(way: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "children.py", way, COUNT)
    assert (recording.returncode, recording.stdout) == (0, "done\n"), recording.stderr
    processes = {process["process"]: process for process in recording.analysis["processes"]}
    ran = {row["process"] for row in recording.analysis["breakdown"] if row["operation"] == "child"}
    if way.startswith("executor"):
        # An idle worker may leave its task to another one; none may be missing all the same.
        events = sum(swept["events"]["operation"] for swept in recording.sweeps())
        assert events == COUNT
        assert len([process for process in processes.values() if process["role"] == "worker"]) <= COUNT
    else:
        assert len(ran) == COUNT
    pids = {process["pid"] for process in processes.values()}
    for name in ran:
        assert processes[name]["role"] == "worker"
        assert processes[name]["complete"]
        assert processes[name]["parent_pid"] in pids
    if way not in ("fork", "subprocess"):
        assert all(re.match(r"(Fork|ForkServer|Spawn)(Process|PoolWorker)-\d+", name) for name in ran), ran
    roles = {process["role"] for process in processes.values()}
    needs_services = "spawn" in way or "forkserver" in way
    assert roles == ({"main", "worker", "infrastructure"} if needs_services else {"main", "worker"})
    if "spawn" in way:
        # It reads what others tell it as long as they live, and does nothing else.
        tracker = processes["resource_tracker"]
        assert recording.seconds(process="resource_tracker", category="wait") > tracker["wall_s"] / 2
