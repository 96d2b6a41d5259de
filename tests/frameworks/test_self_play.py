"""Self-play of Go in many processes: both ways to evaluate positions, recorded; and what happens when one is killed."""

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from framework_runs import PROGRAMS, WORKLOADS, python_of, run_in
from recording import Recording, environment

WORKLOAD = WORKLOADS / "self_play.py"
SMALL = ("--board-size", "5", "--channels", "8", "--blocks", "1", "--training-steps", "2", "--workers", "2")
SHORT = (*SMALL, "--games-per-worker", "8", "--games-in-flight", "2", "--simulations", "4")
TRAINED = {"training", "evaluation"}


def test_games_come_from_their_seed_and_leave_samples() -> None:
    finished = run_in("pytorch", PROGRAMS / "go_games.py", PYTHONPATH=str(WORKLOADS))
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    first, again, other = found["moves"]
    assert first == again != other
    assert sorted(found["numbers"]) == [0, 1, 2]
    assert found["sums"] == [1]
    assert found["shapes"] == [[[len(moves), 4, 5, 5], [len(moves), 26], [len(moves)]] for moves in first]
    for outcomes, (black, white) in zip(found["outcomes"], found["winners"], strict=True):
        assert outcomes == [(black, white)[index % 2] for index in range(len(outcomes))]


@pytest.mark.parametrize("inference", ["worker", "server"])
def test_a_generation_recorded(inference: str, record_pytorch: Callable[..., Recording]) -> None:
    recording = record_pytorch(WORKLOAD, *SHORT, "--inference", inference)
    result: dict[str, Any] = recording.printed
    assert (result["games"], result["evaluation_games"]) == (16, 2)
    assert result["evaluations"] >= 4 * result["moves"]
    assert 1 < result["mean_batch"] <= (4 if inference == "server" else 2)

    workers = {"self_play_0", "self_play_1"}
    servers = {"inference_server"} if inference == "server" else set()
    processes = {process["process"]: process for process in recording.analysis["processes"]}
    assert set(processes) == {"main", "resource_tracker"} | workers | servers | TRAINED
    assert {processes[name]["parent_pid"] for name in workers | servers | TRAINED} == {processes["main"]["pid"]}
    phases = {(row["process"], row["phase"]) for row in recording.analysis["breakdown"] if row["phase"] != "(none)"}
    assert phases == {
        *((name, "self_play") for name in workers),
        *((name, "serving") for name in servers),
        *((name, name) for name in TRAINED),
    }

    # Each position that is evaluated is a node whose moves are asked for.
    asked = [recording.sweep_of(name)["crossings"]["pyspiel.State.legal_actions"] for name in workers]
    assert sum(asked) == result["evaluations"]
    assert recording.seconds(phase="self_play", operation="simulation", category="simulator") > 0
    assert recording.seconds(phase="self_play", operation="mcts", category="python") > 0
    assert recording.seconds(phase="training", operation="backpropagation", category="backend") > 0
    waited = recording.seconds(phase="self_play", operation="inference", category="wait")
    computed = recording.seconds(phase="self_play", operation="inference", category="backend")
    if inference == "server":
        assert waited > 0 and computed == 0
    else:
        assert computed > waited  # where the backend is blocked, by its own threads, that is a wait as well

    account = recording.analysis["account"]
    (paces,) = {row["process"] for row in account}
    if inference == "worker":
        assert paces in workers
    else:
        assert paces in servers or any(row["on"] == "inference_server" for row in account)


@pytest.mark.parametrize("inference", ["worker", "server"])
def test_a_run_ends_with_a_process_that_was_killed(inference: str) -> None:
    command = [python_of("pytorch"), WORKLOAD, *SMALL, "--games-per-worker", "10000", "--inference", inference]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as run:
        count = 5 if inference == "server" else 4
        while len(children := spawned_by(run.pid)) < count:
            assert run.poll() is None
            time.sleep(0.05)
        killed = children[2 if inference == "server" else 0]
        killed.kill()
        _, errors = run.communicate(timeout=120)
    assert run.returncode == 1
    assert f"(pid {killed.pid}) ended by signal SIGKILL" in errors
    assert not any(child.is_running() for child in children)


def spawned_by(pid: int) -> list[psutil.Process]:
    """The processes that the workload has started, in this order."""
    children = psutil.Process(pid).children()
    return sorted(
        (child for child in children if is_spawned(child)), key=lambda child: (child.create_time(), child.pid)
    )


def is_spawned(process: psutil.Process) -> bool:
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False
