"""Workers that their parent ends have lost nothing; of others that were killed nobody knows."""

import json
import re
import signal
from pathlib import Path

import pytest
from recording import record, rlscope

from rlscope.trace.manifest import read_deaths
from rlscope.trace.reader import read_header


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


def test_each_process_has_its_status_and_lives_until_it_ended(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "endings.py")
    assert recording.returncode == 1 and "ValueError" in recording.stderr
    pid, silent_s = recording.stdout.split()
    inspected = json.loads(rlscope("inspect", recording.trace, "--json").stdout)
    found = {process["process"]: process for process in inspected["processes"]}
    statuses = sorted((process["ended"], process["exit_status"]) for process in inspected["processes"])
    assert statuses == [
        ("_exit(), status 3", 3),
        ("_exit(), status 4", 4),
        ("killed by SIGKILL", -signal.SIGKILL),
        ("stopped, status 1", 1),  # the main one, and the program that another one went on as
        ("stopped, status 1", 1),
        ("stopped, status 5", 5),
        ("went on as another program", None),
    ]
    (killed,) = [process for process in found.values() if process["pid"] == int(pid)]
    assert [name for name, process in found.items() if not process["complete"]] == [killed["process"]]
    # It wrote its last record when it began to compute, and has the time since then.
    rows = [row for row in recording.analysis["breakdown"] if row["process"] == killed["process"]]
    computed_s = sum(row["seconds"] for row in rows if row["operation"] == "computes")
    assert computed_s == pytest.approx(float(silent_s), rel=0.2)


def test_a_death_that_nobody_noted_in_order_is_refused(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "ended_workers.py", "fork", "unknown")
    deaths = recording.trace / "deaths.json"
    text = deaths.read_text()
    assert set(read_deaths(recording.trace)) == {f.name for f in recording.files if not read_header(f).stop_ticks}  # type: ignore[union-attr]
    digit = re.search(r": (\d)", text)
    assert digit is not None
    deaths.write_text(text[: digit.start(1)] + str(9 - int(digit[1])) + text[digit.end(1) :])
    refused = rlscope("analyze", recording.trace)
    assert refused.returncode == 2 and str(deaths) in refused.stderr
    recovered = json.loads(rlscope("analyze", recording.trace, "--recover", "--json").stdout)
    assert not recovered["complete"] and any(str(deaths) in reason for reason in recovered["why"])
