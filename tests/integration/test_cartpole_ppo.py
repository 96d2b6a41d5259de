"""PPO on CartPole learns from the rollouts of a native implementation, and says what came of it."""

import json
import subprocess
import sys
from typing import Any

import cartpole_ppo
import pytest
import torch
from framework_runs import ROOT, WORKLOADS
from ppo_update import GAMMA, LAMBDA, Rollout, advantages

SCRIPT = WORKLOADS / "cartpole_ppo.py"


@pytest.mark.slow
def test_it_reaches_the_threshold_in_gymnasium() -> None:
    subprocess.run(["make", "--silent", "-C", ROOT, "simulators", f"PYTHON={sys.executable}"], check=True)
    command: list[Any] = [sys.executable, SCRIPT, "--device", "cpu", "--seed", "2", "--total-timesteps", "1000000"]
    run = subprocess.run(command, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["implementation"] == "C++ threads"
    assert result["mean_return"] >= cartpole_ppo.THRESHOLD
    assert result["timesteps"] <= 1_000_000


def test_a_step_that_was_cut_off_has_no_advantage_and_none_of_what_comes_after_an_end() -> None:
    values = torch.tensor([1.0, 2.0, 3.0, 4.0]).unsqueeze(1)
    none = torch.zeros(3, 1, dtype=torch.bool)
    second = torch.tensor([[False], [True], [False]])

    def gains(terminated: torch.Tensor, truncated: torch.Tensor) -> list[float]:
        rollout = Rollout(torch.zeros(4, 1, 4), none, none, torch.ones(3, 1), terminated, truncated)
        return advantages(rollout, values).squeeze(1).tolist()

    last = 1 + GAMMA * 4 - 3
    first = 1 + GAMMA * 2 - 1
    middle = 1 + GAMMA * 3 - 2 + GAMMA * LAMBDA * last
    assert gains(none, none) == pytest.approx([first + GAMMA * LAMBDA * middle, middle, last])
    assert gains(second, none) == pytest.approx([first + GAMMA * LAMBDA * (1 - 2), 1 - 2, last])
    assert gains(none, second) == pytest.approx([first, 0, last])


@pytest.mark.parametrize("arguments", [["--device", "cuda"], ["--device", "cpu", "--total-timesteps", "0"]])
def test_what_cannot_be_is_one_line(arguments: list[str]) -> None:
    if arguments[1] == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    run = subprocess.run([sys.executable, SCRIPT, *arguments], text=True, capture_output=True)
    assert run.returncode == 2
    assert "expected" in run.stderr.splitlines()[-1]
