"""This file holds the environments to sample from: one that sleeps, and a real one whose resets last many steps."""

import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import wrappers
from numpy.typing import NDArray
from timed_environment import Timing, ends_of

import rlscope
from sampling.settings import Settings

Observation = NDArray[np.float32]
Maker = Callable[[], gymnasium.Env[Any, Any]]

#: A drone that is to hover, and soon falls: its simulator takes some milliseconds a step, and is built anew when an
#: episode ends, which takes thirty times as long.
REAL = "PyFlyt/QuadX-Hover-v4"


class TimedEnvironment(gymnasium.Env[Observation, Observation]):
    """Sleeps as long as its timing says; what it shows and rewards is noise.

    Args:
        timing: of steps and resets.
        seed: of the run.
        environment: its number in the run: with the seed, it says which steps end an episode.
    """

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (8,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, timing: Timing, seed: int, environment: int) -> None:
        self._timing = timing
        self._ends = ends_of(timing, seed, environment)
        self._noise = np.random.default_rng([seed, environment, 1])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode."""
        time.sleep(self._timing.reset_s)
        return self._observe(), {}

    def step(self, action: Observation) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take a step."""
        time.sleep(self._timing.step_s)
        return self._observe(), float(self._noise.standard_normal()), next(self._ends), False, {}

    def _observe(self) -> Observation:
        return self._noise.standard_normal(8, np.float32)


class Started(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Gives what comes before the first step a phase of its own: beginning to sample is no part of sampling."""

    has_stepped = False

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        if self.has_stepped:
            return super().reset(**options)
        with rlscope.phase("starting"):
            return super().reset(**options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step."""
        self.has_stepped = True
        return super().step(action)


def make_environment(settings: Settings, number: int) -> gymnasium.Env[Any, Any]:
    """Return one of a run's environments, with observations in float32 and actions in [-1, 1]."""
    if settings.timing:
        return Started(TimedEnvironment(settings.timing, settings.seed, number))
    importlib.import_module("PyFlyt.gym_envs")  # Gymnasium knows its environments from then on
    env: gymnasium.Env[Any, Any] = gymnasium.make(REAL)
    env = wrappers.RescaleAction(env, np.float32(-1), np.float32(1))
    env = Started(wrappers.DtypeObservation(env, np.float32))
    env.reset(seed=settings.seed * settings.environments + number)
    return env


def prepare(settings: Settings) -> None:
    """Do what processes that are forked then need not do: a real environment compiles functions when it is first
    used.
    """
    if settings.timing:
        return
    environment = make_environment(settings, 0)
    environment.step(environment.action_space.sample())
    environment.close()


def makers(settings: Settings, numbers: list[int]) -> list[Maker]:
    """Return functions that make the environments of these numbers."""
    return [partial(make_environment, settings, number) for number in numbers]
