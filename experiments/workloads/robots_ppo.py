"""This file trains PPO on a robot; rollouts come from the fused CUDA kernel, or on a CPU from its twin in C++.

    python robots_ppo.py --robot Hopper --device cuda

It trains until Gymnasium's own environment of the robot, by the means of the policy's actions, gives the mean return of
GOALS over EPISODES. It then prints one line of JSON, and ends with status 0; with 1 if all timesteps were not enough.
Acting and stepping are one kernel, so they are one operation of a recorded run.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from cartpole.implementation import Policy, UnavailableError
from evaluation import return_of_episodes
from option_types import whole
from ppo_update import GAMMA, Rollout, Settings, perceptron, update
from robots.model import TASKS
from robots.policy import Data, Gaussian, room, widths_of
from robots.source import robot_of
from torch import Tensor, nn
from torch.distributions import Distribution, Independent, Normal

import rlscope


class Goal(NamedTuple):
    """This is when a robot has learned.

    Attributes:
        environment: of Gymnasium.
        mean_return: over EPISODES; stated before the first run.
        options: of the environment, where they are not its defaults.
    """

    environment: str
    mean_return: float
    options: Mapping[str, Any] = MappingProxyType({})


#: Forces of contacts are neither seen by an ant here nor part of its reward.
WITHOUT_FORCES = {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 0}


GOALS = {
    "Ant": Goal("Ant-v5", 2000, WITHOUT_FORCES),
    "HalfCheetah": Goal("HalfCheetah-v5", 1500),
    "Hopper": Goal("Hopper-v5", 1000),
    "Walker2d": Goal("Walker2d-v5", 1000),
}
EPISODES = 20
#: What a return while training has to grow by after an evaluation that failed, before the next one is worth while.
GROWTH = 1.1

SETTINGS = {"cpu": Settings(64, 64, 1e-3, 8, 8, 0.0), "cuda": Settings(4096, 32, 1e-3, 5, 16, 0.0)}
#: How a step ends an episode, as cartpole.h numbers it.
TERMINATED, TRUNCATED = 1, 2
#: Weights of the last layer begin so much smaller: then all that differs between the first actions is noise.
LAST_LAYER = 0.01


class Moments:
    """This follows means and standard deviations of numbers.

    Attributes:
        mean: of all numbers so far.
        deviation: likewise; 1 before there are any.
    """

    def __init__(self, shape: tuple[int, ...], device: str) -> None:
        self._count = 0
        self.mean = torch.zeros(shape, dtype=torch.float64, device=device)
        self._squares = torch.zeros_like(self.mean)
        self.deviation = torch.ones_like(self.mean)

    def add(self, values: Tensor) -> None:
        """Add numbers, whose first axis counts them."""
        values = values.double()
        count, mean = len(values), values.mean(0)
        change = mean - self.mean
        total = self._count + count
        self._squares += (values - mean).square().sum(0) + change.square() * self._count * count / total
        self.mean = self.mean + change * count / total
        self._count = total
        self.deviation = (self._squares / total).sqrt().clamp(min=1e-4)

    def normalised(self, values: Tensor) -> Tensor:
        """Return numbers of mean 0 and standard deviation 1."""
        return (values - self.mean.float()) / self.deviation.float()


class Actor(nn.Module):
    """The policy, for observations that are normalised."""

    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.means = nn.Sequential(*perceptron(widths))
        self.log_deviations = nn.Parameter(torch.zeros(widths[-1]))
        for parameter in self.layers()[-1].parameters():
            parameter.data *= LAST_LAYER

    def layers(self) -> list[nn.Linear]:
        """Return the network's layers that have parameters."""
        return [layer for layer in self.means if isinstance(layer, nn.Linear)]

    def distribution(self, observations: Tensor) -> Distribution:
        """Return the distribution of actions."""
        return Independent(Normal(self.means(observations), self.log_deviations.exp(), False), 1, False)

    def policy(self, seen: Moments) -> Gaussian:
        """Return the parameters for observations as they are: the first layer normalises them."""
        weights = [layer.weight.detach().double() for layer in self.layers()]
        biases = [layer.bias.detach().double() for layer in self.layers()]
        weights[0] = weights[0] / seen.deviation
        biases[0] = biases[0] - weights[0] @ seen.mean
        on_host = [[part.float().cpu().numpy() for part in parts] for parts in (weights, biases)]
        return Gaussian(Policy(*on_host), self.log_deviations.detach().cpu().numpy())


class Collector(Protocol):
    """This says where rollouts come from."""

    name: str

    def roll(self, policy: Gaussian) -> Rollout:
        """Return the next steps of all environments, by this policy."""


class FusedCollector:
    """One launch of the CUDA kernel, whose data are tensors as they are."""

    def __init__(self, robot: str, settings: Settings, seed: int) -> None:
        from robots.cuda import Cuda

        self._environments = Cuda(robot, settings.environments, settings.steps, "cuda", seed)
        self.name = self._environments.name

    def roll(self, policy: Gaussian) -> Rollout:
        """Return the next steps of all environments, by this policy."""
        self._environments.use(policy)
        self._environments.collect()
        return rollout_of(Data(*map(torch.from_dlpack, self._environments.data)))


class TwinCollector:
    """The kernel's twin on the host."""

    name = "C++"

    def __init__(self, robot: str, settings: Settings, seed: int) -> None:
        from robots.cpp import Twin

        self._twin, self._seed, self._now = Twin(robot), seed, 0
        self._environments = self._twin.environments(settings.environments)
        self._data = room(np, self._twin.robot, settings.steps, settings.environments)

    def roll(self, policy: Gaussian) -> Rollout:
        """Return the next steps of all environments, by this policy."""
        self._twin.use(policy)
        self._twin.collect(self._environments, self._data, self._now, self._seed)
        self._now += len(self._data.actions)
        return rollout_of(Data(*map(torch.from_numpy, self._data)))


def rollout_of(data: Data) -> Rollout:
    """Return the rollout that is in tensors."""
    ended = (data.ends == end for end in (TERMINATED, TRUNCATED))
    return Rollout(data.observations, data.actions, data.log_probabilities, data.rewards, *ended)


class Returns:
    """This follows the returns of all environments over rollouts.

    Attributes:
        discounted: of what discounted returns have been, by which rewards are scaled.
        last: mean return of the episodes that ended in the last rollout in which any did; None before.
    """

    def __init__(self, environments: int, device: str) -> None:
        self._sums, self._discounted = torch.zeros(2, environments, device=device)
        self.discounted = Moments((), device)
        self.last: float | None = None

    def add(self, rollout: Rollout) -> None:
        """Add the rewards of a rollout."""
        ends = rollout.terminated | rollout.truncated
        seen, finished = [], self._sums.new_zeros(())
        for rewards, ended in zip(rollout.rewards, ends, strict=True):
            self._sums, self._discounted = self._sums + rewards, GAMMA * self._discounted + rewards
            seen.append(self._discounted)
            finished = finished + (self._sums * ended).sum()
            self._sums, self._discounted = self._sums * ~ended, self._discounted * ~ended
        self.discounted.add(torch.cat(seen))
        if count := int(ends.sum()):  # waits for the device
            self.last = float(finished) / count


def evaluate(goal: Goal, actor: Actor, seen: Moments, device: str, seed: int) -> float:
    """Return the mean return of Gymnasium's environment over EPISODES, each with the means of the actions."""

    def act(observations: Tensor) -> Tensor:
        return actor.means(seen.normalised(observations)).clamp(-1, 1)

    return return_of_episodes(goal.environment, EPISODES, act, device, seed, **goal.options)


@rlscope.operation("training_loop")
def train(robot: str, device: str, seed: int, total_timesteps: int) -> dict[str, Any]:
    """Train until it is good enough, or for so many timesteps; return what came of it.

    Args:
        robot: of GOALS.
        device: cpu or cuda.
        seed: of the weights and of what is drawn.
        total_timesteps: after which to give up.
    """
    torch.manual_seed(seed)
    goal, settings = GOALS[robot], SETTINGS[device]
    widths = widths_of(robot_of(robot))
    actor = Actor(widths).to(device)
    critic = nn.Sequential(*perceptron((*widths[:-1], 1))).to(device)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], settings.learning_rate)
    with rlscope.operation("compile"):
        collector: Collector = (FusedCollector if device == "cuda" else TwinCollector)(robot, settings, seed)
    seen, returns = Moments(widths[:1], device), Returns(settings.environments, device)

    started = time.perf_counter()
    timesteps, promising, mean_return = 0, goal.mean_return, float("-inf")
    iteration_s, returns_in_training = [], []
    while mean_return < goal.mean_return and timesteps < total_timesteps:
        start = time.perf_counter()
        with rlscope.operation("simulation+inference"):
            rollout = collector.roll(actor.policy(seen))
        timesteps += rollout.rewards.numel()
        with rlscope.operation("backpropagation"):
            returns.add(rollout)
            scaled = replace(
                rollout,
                observations=seen.normalised(rollout.observations),
                rewards=rollout.rewards / returns.discounted.deviation.float(),
            )
            update(actor.distribution, critic, optimizer, scaled, settings)
            seen.add(rollout.observations[:-1].flatten(0, 1))
        iteration_s.append(time.perf_counter() - start)
        returns_in_training.append(returns.last)
        rlscope.report_progress(timesteps=timesteps, total_timesteps=total_timesteps)
        print(f"{timesteps} timesteps: mean return {returns.last} while training", file=sys.stderr)
        if (returns.last or 0) >= promising or timesteps >= total_timesteps:
            with rlscope.phase("evaluation"):
                mean_return = evaluate(goal, actor, seen, device, seed)
            promising = GROWTH * max(returns.last or 0, promising)
            print(f"{timesteps} timesteps: mean return {mean_return:.1f} in Gymnasium", file=sys.stderr)
    return {
        "implementation": collector.name,
        "robot": robot,
        "device": device,
        "environments": settings.environments,
        "physics_steps": TASKS[robot].physics_steps,
        "timesteps": timesteps,
        "seconds": time.perf_counter() - started,
        "iteration_s": iteration_s,
        "returns": returns_in_training,
        "mean_return": mean_return,
    }


def main() -> int:
    """Parse the arguments, train, and say what came of it."""
    parser = argparse.ArgumentParser(description="PPO on a robot, with rollouts from one kernel.")
    parser.add_argument("--robot", choices=GOALS, required=True)
    parser.add_argument("--device", choices=SETTINGS, default="cuda", help="cuda (default), or cpu with C++")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--total-timesteps", type=whole, default=100_000_000, help="to give up after (100000000)")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("expected a GPU for --device cuda, but PyTorch finds none here; give --device cpu")
    try:
        result = train(arguments.robot, arguments.device, arguments.seed, arguments.total_timesteps)
    except (UnavailableError, ImportError) as error:
        parser.error(f"{error}; or give another --device")
    print(json.dumps(result))
    return 0 if result["mean_return"] >= GOALS[arguments.robot].mean_return else 1


if __name__ == "__main__":
    sys.exit(main())
