"""This file samples with RLlib: its env runners are Ray actors that step alone, each in E environments.

Env runners and learner are PPO's; they are called in turn as its training step calls them, so that each has its own
seconds. RLlib expects that an environment which has ended an episode begins the next one in a vector step of its own:
with E = 1 that takes as long, and such a step counts neither as a sample nor as a vector step.
"""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import ray
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.tune.registry import register_env

import rlscope
from sampling.cluster import ray_nodes
from sampling.collected import Collected
from sampling.environments import makers
from sampling.loss import AllLostError, tell
from sampling.settings import Settings

#: By which RLlib knows the environments.
NAME = "sampled"


@dataclass(frozen=True)
class Call:
    """A step of a runner's environments: when it began and ended, and which environments then began or ended episodes.

    Attributes:
        idle_ns: since the call before, or since the runner was asked.
        took_ns: until all environments were done.
        begins, ends: of each environment, whether this call began its episode, and whether it ended it.
    """

    idle_ns: int
    took_ns: int
    begins: NDArray[np.bool_]
    ends: NDArray[np.bool_]


@dataclass(frozen=True)
class Sampled:
    """This is what a runner gives for an iteration, in so many seconds."""

    episodes: list[Any]
    calls: list[Call]
    seconds: float


class TimedRunner(SingleAgentEnvRunner):
    """RLlib's runner with a clock around each step."""

    def take(self, steps: int) -> Sampled:
        """Take so many steps in each environment; none at first, which only begins episodes."""
        self._calls: list[Call] = []
        begin_ns = self._ended_ns = time.perf_counter_ns()
        with rlscope.phase("sampling" if steps else "starting"):
            episodes = self.sample(num_timesteps=steps * self.num_envs)
        return Sampled(episodes, self._calls, (time.perf_counter_ns() - begin_ns) / 1e9)

    def make_env(self) -> None:
        """Make the environments with this runner's numbers; none has ended an episode yet."""
        settings: Settings = self.config.env_config["settings"]
        register_env(NAME, lambda _: vector_of(settings, self.worker_index))
        super().make_env()
        self._ends = np.zeros(self.num_envs, bool)

    def where(self) -> tuple[int, dict[str, Any]]:
        """Return the runner's number; its name, its process, and the address of its node."""
        name = f"env_runner_{self.worker_index}"
        return self.worker_index, {"worker": name, "pid": os.getpid(), "node": ray.util.get_node_ip_address()}

    def _try_env_step(self, actions: Any) -> Any:
        begin_ns = time.perf_counter_ns()
        results = super()._try_env_step(actions)
        end_ns = time.perf_counter_ns()
        ends = results[2] | results[3]
        self._calls.append(Call(begin_ns - self._ended_ns, end_ns - begin_ns, self._ends, ends))
        self._ended_ns, self._ends = end_ns, ends
        return results


def vector_of(settings: Settings, runner: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Return a runner's environments: in processes of their own where there are several, so that they step side by
    side.
    """
    count = settings.environments_per_worker
    first = (runner - 1) * count  # the local runner, which makes no environments, is number 0
    made = makers(settings, list(range(first, first + count)))
    return AsyncVectorEnv(made) if count > 1 else SyncVectorEnv(made)


class Rllib:
    """W env runners, and PPO's learner in this process.

    Args:
        settings: of the run.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        with contextlib.ExitStack() as stack:
            stack.enter_context(ray_nodes(settings.workers, is_cluster=settings.is_cluster))
            self._algorithm = config(settings).build_algo()
            stack.callback(self._algorithm.stop)
            self._runners: dict[int, dict[str, Any]] = dict(self._each(TimedRunner.where))
            self._each(partial(TimedRunner.take, steps=0))
            self._closing = stack.pop_all()

    @property
    def runners(self) -> list[dict[str, Any]]:
        """Name, process and node of each."""
        return list(self._runners.values())

    def collect(self) -> Collected:
        """Return T steps of each environment.

        Raises:
            AllLostError: no runner is left.
        """
        group = self._algorithm.env_runner_group
        group.sync_weights(from_worker_or_learner_group=self._algorithm.learner_group, inference_only=True)
        sampled = self._each(partial(TimedRunner.take, steps=self._settings.steps))
        lost = self._lost()
        if not sampled:
            raise AllLostError
        return collected(sampled, lost)

    def optimize(self, batch: Any) -> None:
        """Make one update by PPO's learner."""
        self._algorithm.learner_group.update(episodes=batch, num_epochs=1, timesteps={})

    def close(self) -> None:
        """End runners and nodes."""
        self._closing.close()

    def _each(self, function: Callable[[Any], Any]) -> list[Any]:
        found: list[Any] = self._algorithm.env_runner_group.foreach_env_runner(function, local_env_runner=False)
        return found

    def _lost(self) -> list[dict[str, Any]]:
        left = set(self._algorithm.env_runner_group.healthy_env_runner_ids())
        lost = [{**self._runners.pop(index), "ended": "without an answer"} for index in self._runners.keys() - left]
        for one in lost:
            tell(one, f"{len(left)} runners")
        return lost


def config(settings: Settings) -> PPOConfig:
    """Return the configuration of PPO with such environments."""
    count = settings.environments_per_worker
    samples = settings.environments * settings.steps
    return (
        PPOConfig()
        .environment(NAME, env_config={"settings": settings})
        .env_runners(
            env_runner_cls=TimedRunner,
            num_env_runners=settings.workers,
            num_envs_per_env_runner=count,
            gym_env_vectorize_mode="vector_entry_point",
            rollout_fragment_length=settings.steps,
        )
        .rl_module(model_config={"fcnet_hiddens": [64, 64]})
        .training(train_batch_size_per_learner=samples, minibatch_size=samples, num_epochs=1)
        .fault_tolerance(restart_failed_env_runners=False, ignore_env_runner_failures=True)
        .debugging(seed=settings.seed, log_level="ERROR")
    )


def collected(sampled: list[Sampled], lost: list[dict[str, Any]]) -> Collected:
    """Return what all runners have collected."""
    calls = [call for one in sampled for call in one.calls]
    quiet = [call for call in calls if not call.begins.any()]
    episodes = [episode for one in sampled for episode in one.episodes]
    return Collected(
        batch=episodes,
        samples=sum(map(len, episodes)),
        resets=sum(int(call.ends.sum()) for call in calls),
        vector_steps=sum(not call.begins.all() for call in calls),
        inference_s=sum(call.idle_ns for call in calls) / 1e9,
        step_s=sum(call.took_ns for call in calls) / 1e9,
        steps_without_reset=len(quiet),
        step_without_reset_s=sum(call.took_ns for call in quiet) / 1e9,
        worker_s=[one.seconds for one in sampled],
        lost=lost,
    )
