"""Every way to start a process: 64 children are 64 processes of the trace, each with what it did."""

import re
import sys
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


#: A chain of forks, each of which says how much of trace files it has mapped, and records.
CHAIN = """
import os, rlscope
for _ in range(20):
    if pid := os.fork():
        os.waitpid(pid, 0)
        os._exit(0)
    with rlscope.operation("child"):
        lines = open("/proc/self/maps").read().splitlines()
        print(len({line.rpartition("/")[2] for line in lines if line.endswith(".rlscope")}), flush=True)
"""


def test_a_child_keeps_nothing_of_the_files_of_those_before_it(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", CHAIN)
    mapped = recording.stdout.split()
    assert mapped == ["1"] * 20, recording.stderr
    assert recording.analysis["complete"]
    assert sum(swept["events"]["operation"] for swept in recording.sweeps()) == 20


@pytest.mark.parametrize(("children", "names"), [(1, {"launcher": "infrastructure", "main": "main"}), (2, None)])
def test_what_a_launcher_starts_is_main(children: int, names: dict[str, str] | None, tmp_path: Path) -> None:
    """Where it is one: of several that train, none is more than the others."""
    script = tmp_path / "launch.py"
    program = "import rlscope\nwith rlscope.operation('simulation'): sum(range(1000))"
    script.write_text(
        "import subprocess, sys\n"
        f"for _ in range({children}):\n"
        f"    subprocess.run([sys.executable, '-c', {program!r}], check=True)\n"
        "subprocess.run([sys.executable, '-c', 'pass'], check=True)\n"
    )
    processes = record(tmp_path / "trace", script).analysis["processes"]
    found = {process["process"]: process["role"] for process in processes}
    assert len(found) == children + 2
    if names is None:
        assert (found["main"], "launcher" in found) == ("main", False)
    else:
        assert names.items() <= found.items()
        assert next(each for each in processes if each["process"] == "main")["parent"] == "launcher"
