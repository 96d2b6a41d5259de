"""The sampling workload: each way to sample recorded, a process that is killed, and a node of Ray's that is lost."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import psutil
import pytest
from framework_runs import WORKLOADS, python_of
from recording import Recording, environment

WORKLOAD = WORKLOADS / "sample.py"
SHORT = ("--environments", 4, "--steps", 20, "--iterations", 2, "--step-ms", 1, "--reset-ms", 20)
SEED = ("--seed", 3, "--reset-probability", 0.1)


def result_of(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    ("sampler", "together", "workers"),
    [("sb3_dummy", 4, 0), ("sb3_subproc", 4, 4), ("gymnasium_async", 4, 4), ("free", 1, 4), ("free", 2, 6)],
)
def test_each_way_to_sample_recorded(
    sampler: str, together: int, workers: int, record_pytorch: Callable[..., Recording]
) -> None:
    from timed_environment import Timing, draw_resets

    recording = record_pytorch(WORKLOAD, "--sampler", sampler, "--environments-per-worker", together, *SHORT, *SEED)
    result = result_of(recording.stdout)
    assert (result["sampler"], result["environments_per_worker"]) == (sampler, together)
    drawn = draw_resets(Timing(0.001, 0.02, 0.1), seed=3, environments=4, steps=40)
    assert [row["resets"] for row in result["iterations"]] == [drawn[:20].sum(), drawn[20:].sum()]
    assert [row["samples"] for row in result["iterations"]] == [80, 80]
    assert result["lost_workers"] == []

    # Where environments sleep side by side or not, each vector step takes at least as long as they do.
    groups = drawn.reshape(2, 20, 4 // together, together)
    slept = groups.sum(3) if sampler == "sb3_dummy" else groups.any(3)
    least_s = (0.02 * slept.sum(1) + 0.02 * (4 if sampler == "sb3_dummy" else 1)).max(1)
    for row, seconds in zip(result["iterations"], least_s, strict=True):
        assert row["sampling_s"] >= max(row["worker_s"]) >= seconds
    assert result["step_s"] >= np.mean(0.001 + 0.02 * slept)
    assert result["step_without_reset_s"] >= 0.001

    analysis = recording.analysis
    assert (analysis["iterations"], analysis["timesteps"]) == (2, 160)
    processes = [process["process"] for process in analysis["processes"]]
    assert len(processes) == 1 + workers
    sampling = recording.seconds(process="main", phase="sampling")
    assert sampling == pytest.approx(sum(row["sampling_s"] for row in result["iterations"]), rel=0.1)
    assert recording.seconds(process="main", phase="optimization", stage="backpropagation", category="backend") > 0
    acting = {row["process"] for row in analysis["breakdown"] if row["stage"] == "inference"}
    assert acting == ({f"worker_{index}" for index in range(4 // together)} if sampler == "free" else {"main"})
    resetting = {row["process"] for row in analysis["breakdown"] if row["operation"] == "reset"}
    assert resetting >= {name for name in processes if name != "main" and (sampler, together) != ("free", 2)}
    assert recording.seconds(stage="simulation", category="wait") > 0


LONG = ("--environments", 4, "--steps", 200, "--iterations", 2, "--step-ms", 15)


@contextmanager
def running(*arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """The workload, which is ended with the block."""
    command = [str(part) for part in (python_of("pytorch"), WORKLOAD, *arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=environment()) as run:
        try:
            yield run
        finally:
            for process in [*processes(run, bool), run] if run.poll() is None else []:
                process.kill()


def wait_for(run: "subprocess.Popen[str]", wanted: int, is_meant: Callable[[str], bool] = bool) -> list[psutil.Process]:
    """So many processes of the workload with such command lines, in the order in which they were started."""
    while len(found := processes(run, is_meant)) < wanted:
        assert run.poll() is None
        time.sleep(0.2)
    return found


def processes(run: "subprocess.Popen[str]", is_meant: Callable[[str], bool]) -> list[psutil.Process]:
    found = []
    for process in psutil.Process(run.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if is_meant(" ".join(process.cmdline())):
                found.append(process)
    return found


def test_environments_in_lock_step_go_on_without_one_that_is_killed() -> None:
    with running("--sampler", "sb3_subproc", *LONG) as run:
        killed = wait_for(run, 4)[2]
        time.sleep(0.5)  # in the middle of something
        killed.kill()
        printed, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    result = result_of(printed)
    ended = {"pid": killed.pid, "ended": "by signal SIGKILL"}
    assert result["lost_workers"] == [{"iteration": 0, "worker": "environment 2", **ended}]
    assert 600 <= result["iterations"][0]["samples"] < 800
    assert result["iterations"][1]["samples"] == 600
    line = f"sample.py: lost environment 2 (pid {killed.pid}), which ended by signal SIGKILL; 3 environments go on"
    assert [each for each in errors.splitlines() if "lost" in each] == [line]


def test_workers_go_on_until_none_is_left() -> None:
    with running("--sampler", "free", *LONG) as run:
        started = wait_for(run, 4)
        started[2].kill()
        assert run.stderr is not None
        line = f"sample.py: lost worker_2 (pid {started[2].pid}), which ended by signal SIGKILL; 3 workers go on\n"
        assert line in iter(run.stderr.readline, "")
        for process in (*started[:2], started[3]):
            process.kill()
        printed, errors = run.communicate(timeout=120)
    assert (run.returncode, printed) == (1, "")
    assert errors.splitlines()[-1] == "sample.py: all workers are lost, nothing samples any more"
    assert "Traceback" not in errors


@pytest.mark.slow
def test_runners_go_on_when_the_other_node_of_two_is_lost() -> None:
    sizes = ("--environments", 2, "--steps", 150, "--iterations", 2, "--step-ms", 30, "--optimize-ms", 10)
    with running("--sampler", "rllib", "--cluster", *sizes) as run:
        wait_for(run, 2, lambda command: command.startswith("ray::TimedRunner.apply"))  # both take steps
        (raylet,) = wait_for(
            run, 1, lambda command: "raylet_socket_name" in command and "node_ip_address=127.0.0.3" in command
        )
        raylet.kill()
        printed, errors = run.communicate(timeout=240)
    assert run.returncode == 0, errors
    result = result_of(printed)
    assert {runner["node"] for runner in result["runners"]} == {"127.0.0.2", "127.0.0.3"}
    (lost,) = [runner for runner in result["runners"] if runner["node"] == "127.0.0.3"]
    assert result["lost_workers"] == [{"iteration": 0, **lost, "ended": "without an answer"}]
    assert [row["samples"] for row in result["iterations"]] == [150, 150]
    assert result["step_s"] >= 0.03
    assert errors.count(f"sample.py: lost {lost['worker']} (pid {lost['pid']})") == 1
