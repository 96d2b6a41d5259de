"""This file makes the environment that every framework trains in: Gymnasium's, with the same wrappers in one order."""

import importlib
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import wrappers
from hyperparameters import Hyperparameters

#: Episodes whose mean return says how well an agent does.
EPISODES = 10
#: Largest normalised observation and reward.
CLIP = 10.0


class IterationClock(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Notes when each iteration of the training loop takes its first step, whatever the loop is written in."""

    def __init__(self, env: gymnasium.Env[Any, Any], steps: int) -> None:
        super().__init__(env)
        self._steps = steps
        self._taken = 0
        self.starts_ns: list[int] = []

    def step(self, action: Any) -> Any:
        """Step the environment."""
        if self._taken % self._steps == 0:
            self.starts_ns.append(time.perf_counter_ns())
        self._taken += 1
        return self.env.step(action)

    def seconds(self) -> list[float]:
        """Return the seconds of the complete iterations; the last one ends now."""
        ends_ns = [*self.starts_ns[1:], *([] if self._taken % self._steps else [time.perf_counter_ns()])]
        return [(end - start) / 1e9 for start, end in zip(self.starts_ns, ends_ns, strict=False)]


def make(env_id: str, seed: int, algorithm: Hyperparameters) -> gymnasium.Env[Any, Any]:
    """Return an environment whose observations are float32 vectors, whose actions lie in [-1, 1], and that counts
    returns.

    Args:
        env_id: Gymnasium's id of an environment with a time limit.
        seed: The seed of its first episode (later ones follow from it) and of its random actions.
        algorithm: Says whether time is a feature, and whether observations and returns are normalised.
    """
    if "Bullet" in env_id:
        importlib.import_module("pybullet_envs_gymnasium")  # registers Walker2DBulletEnv-v0 and its siblings
    env: gymnasium.Env[Any, Any] = wrappers.RecordEpisodeStatistics(gymnasium.make(env_id), buffer_length=EPISODES)
    env = wrappers.RescaleAction(env, np.float32(-1), np.float32(1))
    if algorithm.has_time_feature:
        env = wrappers.TimeAwareObservation(env, normalize_time=True)
    if algorithm.is_normalized:
        env = normalized(env, algorithm.gamma)
    env = wrappers.DtypeObservation(env, np.float32)
    env.action_space.seed(seed)
    env.reset(seed=seed)
    return IterationClock(env, algorithm.steps)


def normalized(env: gymnasium.Env[Any, Any], gamma: float) -> gymnasium.Env[Any, Any]:
    """Return observations and rewards of about unit size, cut off as stable-baselines' VecNormalize cuts them off."""
    env = wrappers.NormalizeReward(wrappers.NormalizeObservation(env), gamma=gamma)
    env = wrappers.TransformObservation(env, lambda seen: np.clip(seen, -CLIP, CLIP), env.observation_space)
    return wrappers.TransformReward(env, lambda reward: float(np.clip(float(reward), -CLIP, CLIP)))


def mean_return(env: gymnasium.Env[Any, Any]) -> float:
    """Return the mean return of the last episodes, before normalisation; not a number where none is complete."""
    returns = env.get_wrapper_attr("return_queue")
    return float(np.mean(returns)) if returns else float("nan")


def print_summary(env: gymnasium.Env[Any, Any]) -> None:
    """Print what every script prints at its end, in a form that programs can read."""
    print("seconds of the iterations:", *(f"{seconds:.4f}" for seconds in env.get_wrapper_attr("seconds")()))
    print(f"return of the last {EPISODES} episodes: {mean_return(env):.1f}")
