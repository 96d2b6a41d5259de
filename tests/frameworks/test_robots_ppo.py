"""A policy that acts in robots' environments, in C++ as in the CUDA kernel; and PPO that learns from what it leaves."""

import functools
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import robots_ppo
import torch
from framework_runs import WORKLOADS
from ppo_update import Rollout
from robot_reference import Array, check_actions, environment_step, observed, policy_of
from robots.cpp import Environments, Twin
from robots.model import TASKS
from robots.policy import Data, room
from robots_ppo import TERMINATED, TRUNCATED, Actor, Moments, Returns
from torch.distributions import Independent, Normal

SCRIPT = WORKLOADS / "robots_ppo.py"
SEED = (3 << 32) + 9


@functools.cache
def twin(name: str) -> Twin:
    """Each robot, with its policy in use."""
    robot = Twin(name)
    robot.use(policy_of(name, robot.robot))
    return robot


def collected(name: str, at: Environments, steps: int, first: int) -> Data:
    data = room(np, twin(name).robot, steps, len(at.lasted))
    for array in data:
        array.fill(99)
    twin(name).collect(at, data, first, SEED)
    return data


@pytest.mark.parametrize("name", TASKS)
def test_actions_are_drawn_around_the_means_of_what_is_seen(name: str) -> None:
    data = collected(name, twin(name).environments(100), 30, 0)
    policy = policy_of(name, twin(name).robot)
    check_actions(policy, data, 0, SEED, "accurate")
    layers = [torch.from_numpy(part).double() for part in (*policy.means.weights, *policy.means.biases)]
    hidden = torch.from_numpy(data.observations[:-1]).double()
    for weight, bias in zip(layers[:2], layers[3:5], strict=True):
        hidden = torch.tanh(hidden @ weight.T + bias)
    means = hidden @ layers[2].T + layers[5]
    deviations = torch.from_numpy(policy.log_deviations).double().exp()
    distribution = Independent(Normal(means, deviations), 1)
    actions = torch.from_numpy(data.actions)
    np.testing.assert_allclose(data.log_probabilities, distribution.log_prob(actions), atol=1e-4)
    noise = ((actions - means) / deviations).flatten(0, 1).numpy()
    # Means, variances and covariances of so many normal numbers, within four standard errors.
    assert (np.abs(noise.mean(0)) < 4 / len(noise) ** 0.5).all()
    assert (np.abs(np.cov(noise.T) - np.eye(noise.shape[1])) < 4 * (2 / len(noise)) ** 0.5).all()
    assert (np.abs(data.actions) > 1).any(), "what is written is not cut off"


@pytest.mark.parametrize("name", TASKS)
def test_steps_are_those_of_environments_with_these_actions(name: str) -> None:
    """Each step of each environment, from the state before it; motors give no more than they can."""
    count, ended = 8, 0
    at = twin(name).environments(count)
    twin(name).simulate(at, 0, 0, SEED)
    for now in range(1, 41):
        before = Environments(*(values.copy() for values in at))
        data = collected(name, at, 1, now)
        np.testing.assert_array_equal(data.observations[0], observed(name, before.q, before.v))
        np.testing.assert_array_equal(data.observations[1], observed(name, at.q, at.v))
        np.testing.assert_allclose(at.rewards - before.rewards, data.rewards[0], atol=1e-4)
        np.testing.assert_array_equal(at.ends - before.ends, data.ends[0] != 0)
        for i in range(count):
            given = data.actions[0, i].clip(-1, 1)
            _, v, reward, is_healthy = environment_step(name, before.q[:, i], before.v[:, i], given)
            assert data.rewards[0, i] == pytest.approx(reward, abs=2e-3 * max(1, np.abs(v).max()))
            assert data.ends[0, i] == (0 if is_healthy else TERMINATED)
            assert at.lasted[i] == (before.lasted[i] + 1 if is_healthy else 0)
            ended += not is_healthy
    assert bool(ended) == (name != "HalfCheetah")


@pytest.mark.parametrize("name", TASKS)
def test_ten_launches_of_one_step_are_one_of_ten(name: str) -> None:
    single, fused = twin(name).environments(33), twin(name).environments(33)
    parts = [collected(name, single, 1, now) for now in range(10)]
    whole = collected(name, fused, 10, 0)
    for one, other in zip(single, fused, strict=True):
        np.testing.assert_array_equal(one, other)
    for now, part in enumerate(parts):
        np.testing.assert_array_equal(part.observations, whole.observations[now : now + 2])
        for key in Data._fields[1:]:
            np.testing.assert_array_equal(getattr(part, key)[0], getattr(whole, key)[now])


def test_an_episode_that_is_late_is_cut_off_unless_the_robot_has_fallen() -> None:
    at = twin("Hopper").environments(3)
    twin("Hopper").simulate(at, 0, 0, SEED)
    at.lasted[:] = 998, 999, 999
    at.q[1, 2] = 0.1
    assert collected("Hopper", at, 1, 1).ends.tolist() == [[0, TRUNCATED, TERMINATED]]
    assert at.lasted.tolist() == [999, 0, 0]
    assert at.ends.tolist() == [0, 1, 1]


def test_moments_are_those_of_all_numbers() -> None:
    random = np.random.default_rng(1)
    parts = [random.normal(3, 2, (count, 5)).astype(np.float32) for count in (1, 7, 1000)]
    moments = Moments((5,), "cpu")
    for part in parts:
        moments.add(torch.from_numpy(part))
    whole = np.concatenate(parts).astype(float)
    np.testing.assert_allclose(moments.mean, whole.mean(0), rtol=1e-9)
    np.testing.assert_allclose(moments.deviation, whole.std(0), rtol=1e-9)


def test_the_first_layer_normalises_what_is_seen() -> None:
    torch.manual_seed(1)
    actor, seen = Actor((4, 64, 64, 2)), Moments((4,), "cpu")
    values = torch.randn(1000, 4) * torch.tensor([0.05, 1, 3, 10]) + torch.tensor([1.25, 0, -2, 30])
    seen.add(values)
    layers = actor.policy(seen).means
    hidden: Array = values.numpy()
    for weight, bias in zip(layers.weights[:-1], layers.biases[:-1], strict=True):
        hidden = np.tanh(hidden @ weight.T + bias)
    expected = actor.means(seen.normalised(values)).detach()
    np.testing.assert_allclose(hidden @ layers.weights[-1].T + layers.biases[-1], expected, atol=1e-5)


def test_returns_are_of_episodes_over_rollouts() -> None:
    none = torch.zeros(2, 2, dtype=torch.bool)
    returns = Returns(2, "cpu")

    def add(rewards: list[list[float]], terminated: torch.Tensor, truncated: torch.Tensor) -> float | None:
        given = torch.tensor(rewards)
        returns.add(Rollout(torch.zeros(3, 2, 1), torch.zeros(2, 2, 1), given, given, terminated, truncated))
        return returns.last

    assert add([[1, 10], [2, 20]], none, none) is None
    first = torch.tensor([[False, True], [False, False]])
    assert add([[3, 30], [4, 40]], first, none) == 60
    assert add([[5, 50], [6, 60]], none, torch.tensor([[False, True], [True, False]])) == (90 + 21) / 2
    assert add([[7, 70], [8, 80]], none, none) == (90 + 21) / 2, "the last one that is known"


def test_it_learns() -> None:
    """In the first tenth of what reaching the threshold takes at most."""
    result = robots_ppo.train("Hopper", "cpu", seed=0, total_timesteps=100_000)
    assert result["returns"][0] < 50 and max(result["returns"]) > 200
    assert result["mean_return"] > 200, "Gymnasium's own hopper, too"


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["Hopper", "HalfCheetah"])
def test_it_reaches_the_threshold_in_gymnasium(robot: str) -> None:
    command: list[Any] = [sys.executable, SCRIPT, "--robot", robot, "--device", "cpu", "--total-timesteps", "2000000"]
    run = subprocess.run(command, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["mean_return"] >= robots_ppo.GOALS[robot].mean_return


@pytest.mark.parametrize("arguments", [["--device", "cuda"], ["--device", "cpu", "--total-timesteps", "0"]])
def test_what_cannot_be_is_one_line(arguments: list[str]) -> None:
    if arguments[1] == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    command = [sys.executable, SCRIPT, "--robot", "Hopper", *arguments]
    run = subprocess.run(command, text=True, capture_output=True)
    assert run.returncode == 2
    assert "expected" in run.stderr.splitlines()[-1]
