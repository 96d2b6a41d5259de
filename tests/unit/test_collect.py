"""The command that measures data collection: its rows, what it leaves out, what it refuses, how it measures."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WORKLOADS = Path(__file__).resolve().parents[2] / "experiments" / "workloads"


def collect(output: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, WORKLOADS / "collect.py", *arguments, "--output", output]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


def rows(output: Path, *arguments: str) -> list[dict[str, Any]]:
    finished = collect(output, *arguments)
    assert finished.returncode == 0, finished.stderr
    found = [json.loads(line) for line in (output / "rows.jsonl").read_text().splitlines()]
    assert len(finished.stderr.splitlines()) == len(found), "a line of progress for each cell"
    return found


SIZES = ("--environments", "5", "2", "--steps-per-call", "3", "1", "3")
SHORT = ("--seconds", "0.002", "--repetitions", "3")


@pytest.mark.parametrize("quantity", ["collect", "simulate"])
@pytest.mark.parametrize("implementation", ["PyTorch", "Gymnasium"])
def test_a_row_for_each_cell(implementation: str, quantity: str, tmp_path: Path) -> None:
    found = rows(tmp_path, "--implementation", implementation, "--quantity", quantity, *SIZES, *SHORT)
    assert [(row["environments"], row["steps_per_call"]) for row in found] == [(2, 1), (2, 3), (5, 1), (5, 3)]
    for row in found:
        fixed: dict[str, object] = {
            "implementation": implementation,
            "quantity": quantity,
            "simulator": "CartPole",
            "device": "cpu",
        }
        fixed |= {"state_factor": 1, "compute_factor": 1, "variant": ""}
        assert {name: row[name] for name in fixed} == fixed
        assert len(row["seconds"]) == len(row["calls"]) == 3 and len(set(row["calls"])) == 1
        assert row["steps"] == row["calls"][0] * row["environments"] * row["steps_per_call"]
        assert min(row["seconds"]) > 0


def test_what_cannot_run_here_is_left_out_with_the_reason(tmp_path: Path) -> None:
    found = rows(tmp_path, "--implementation", "CUDA graph", "--quantity", "collect", *SIZES)
    assert len(found) == 4
    for row in found:
        assert "not testable here" in row["left_out"] and "\n" not in row["left_out"]
        assert not {"steps", "seconds", "calls"} & set(row)


def test_what_does_not_fit_is_left_out_with_what_does(tmp_path: Path) -> None:
    sizes = ("--environments", "1", "100000000000", "--steps-per-call", "1")
    first, second = rows(tmp_path, "--implementation", "PyTorch", "--quantity", "collect", *sizes, *SHORT)
    assert "seconds" in first
    assert second["left_out"].startswith("expected at most ") and "found 100000000000" in second["left_out"]


def test_a_call_that_would_take_too_long_is_not_begun(tmp_path: Path) -> None:
    sizes = ("--environments", "1", "--steps-per-call", "1", "1000000000")
    first, second = rows(
        tmp_path, "--implementation", "PyTorch", "--quantity", "simulate", *sizes, *SHORT, "--most-seconds", "5"
    )
    assert "seconds" in first
    assert "one call takes about" in second["left_out"] and "expected at most 5" in second["left_out"]


def test_a_call_that_takes_longer_than_it_may_is_left_out(tmp_path: Path) -> None:
    sizes = ("--environments", "1", "--steps-per-call", "10")
    (row,) = rows(tmp_path, "--implementation", "PyTorch", "--quantity", "simulate", *sizes, "--most-seconds", "1e-9")
    assert "one call takes about" in row["left_out"]


CELL = ("--environments", "1", "--steps-per-call", "1")
XLA = ("--implementation", "XLA", "--quantity", "simulate")
COLLECT = ("--implementation", "XLA", "--quantity", "collect")
PYTORCH = ("--implementation", "PyTorch", "--quantity", "simulate")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((*PYTORCH, "--environments", "0", "--steps-per-call", "1"), "at least 1, found '0'"),
        ((*PYTORCH, "--environments", "-4", "--steps-per-call", "1"), "at least 1, found '-4'"),
        ((*PYTORCH, "--environments", "1", "--steps-per-call", "1.5"), "at least 1, found '1.5'"),
        ((*PYTORCH, *CELL, "--seconds", "nan"), "expected a number of seconds above 0, found 'nan'"),
        ((*PYTORCH, *CELL, "--most-seconds", "-1"), "expected a number of seconds above 0, found '-1'"),
        ((*PYTORCH, *CELL, "--variants", "accurate"), "expected --implementation CUDA"),
        ((*XLA, *CELL, "--state-factor", "2"), "expected --implementation CUDA"),
        ((*PYTORCH, *CELL, "--simulator", "Brax ant"), "expected --implementation XLA"),
        ((*PYTORCH, *CELL, "--simulator", "Planar Hopper"), "expected --implementation CUDA or XLA to simulate"),
        ((*COLLECT, *CELL, "--simulator", "Planar Hopper"), "or CUDA to collect, found XLA to collect"),
        ((*COLLECT, *CELL, "--simulator", "Brax ant"), "expected --implementation XLA to simulate, found XLA to"),
        (("--implementation", "Fortran", "--quantity", "collect", *CELL), "invalid choice"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    finished = collect(tmp_path, *arguments)
    assert finished.returncode == 2
    assert complaint in finished.stderr.splitlines()[-1]
    assert "Traceback" not in finished.stderr


def test_repetitions_are_of_as_many_calls_as_fill_the_time() -> None:
    from throughput import Effort, Loop, repetitions_of

    made = []
    loop = Loop(lambda: made.append("call"), lambda: made.append("wait"))
    calls, seconds = repetitions_of(loop, Effort(seconds=0.001, repetitions=4, most_seconds=60))
    assert len(seconds) == 4 and seconds[0] >= 0.001
    assert made[-3 * (calls + 1) :] == 3 * (calls * ["call"] + ["wait"]), "waited for once, at the end"


def test_there_is_one_repetition_at_least() -> None:
    from throughput import Effort, Loop, repetitions_of

    calls, seconds = repetitions_of(Loop(list, list), Effort(seconds=1e-9, repetitions=4, most_seconds=1e-9))
    assert (calls, len(seconds)) == (1, 1)


def test_a_policy_is_its_seeds() -> None:
    from cartpole.policies import make_policy

    policy, again, other = make_policy(1), make_policy(1), make_policy(2)
    assert [weight.shape for weight in policy.weights] == [(64, 4), (64, 64), (2, 64)]
    assert [bias.shape for bias in policy.biases] == [(64,), (64,), (2,)]
    for mine, same, others in zip(
        (*policy.weights, *policy.biases),
        (*again.weights, *again.biases),
        (*other.weights, *other.biases),
        strict=True,
    ):
        assert mine.dtype == np.float32
        np.testing.assert_array_equal(mine, same)
        assert (mine != others).all()
    for weight, bias in zip(policy.weights, policy.biases, strict=True):
        limit = weight.shape[1] ** -0.5
        assert 0.95 * limit < abs(weight).max() <= limit
        assert abs(bias).max() <= limit
