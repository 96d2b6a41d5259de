"""This file holds environments that wait for each other in every step: Stable-Baselines3's, Gymnasium's, or one alone.

An environment that has ended an episode begins the next one in the same step in all of them. Gymnasium would do so in a
step of its own (its autoreset mode "next step"), as Stable-Baselines3 cannot.
"""

from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from numpy.typing import NDArray

from sampling.environments import Maker

Array = NDArray[Any]


class Vector(Protocol):
    """Environments that are stepped together.

    Attributes:
        processes: that they run in, in the order of the environments; none where they run in this one.
        action_size: numbers in an action.
    """

    processes: Sequence[BaseProcess]
    action_size: int

    def reset(self) -> Array:
        """Begin an episode in each; observations, in rows."""

    def step(self, actions: Array) -> tuple[Array, Array, Array]:
        """Return observations, rewards and whether an episode has ended, a row or number for each environment."""

    def close(self) -> None:
        """End the processes."""

    def abandon(self) -> None:
        """Let the processes be, which have been killed."""


class Library:
    """A library's vector, which ends its processes unless it takes itself for closed."""

    _envs: Any

    def close(self) -> None:
        """See Vector."""
        self._envs.close()

    def abandon(self) -> None:
        """See Vector."""
        self._envs.closed = True


class StableBaselines3(Library):
    """Stable-Baselines3's vectors: DummyVecEnv steps one after another in this process, SubprocVecEnv has processes."""

    def __init__(self, makers: list[Maker], *, is_parallel: bool) -> None:
        from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv  # others need not wait for it

        self._envs = SubprocVecEnv(makers, start_method="fork") if is_parallel else DummyVecEnv(makers)
        self.processes: Sequence[BaseProcess] = self._envs.processes if is_parallel else ()
        self.action_size = self._envs.action_space.shape[0]

    def reset(self) -> Array:
        """See Vector."""
        return np.asarray(self._envs.reset())

    def step(self, actions: Array) -> tuple[Array, Array, Array]:
        """See Vector."""
        observations, rewards, ends, _ = self._envs.step(actions)
        return np.asarray(observations), rewards, ends


class Gymnasium(Library):
    """Gymnasium's AsyncVectorEnv: a process for each environment, observations in shared memory."""

    def __init__(self, makers: list[Maker]) -> None:
        self._envs = AsyncVectorEnv(makers, context="fork", autoreset_mode=AutoresetMode.SAME_STEP)
        self.processes: Sequence[BaseProcess] = self._envs.processes
        self.action_size = self._envs.single_action_space.shape[0]

    def reset(self) -> Array:
        """See Vector."""
        return np.asarray(self._envs.reset()[0])

    def step(self, actions: Array) -> tuple[Array, Array, Array]:
        """See Vector."""
        observations, rewards, terminated, truncated, _ = self._envs.step(actions)
        return observations, rewards, terminated | truncated


class Alone:
    """One environment, which waits for no other and runs in this process."""

    processes: Sequence[BaseProcess] = ()

    def __init__(self, makers: list[Maker]) -> None:
        (maker,) = makers
        self._env = maker()
        self.action_size = self._env.action_space.shape[0]

    def reset(self) -> Array:
        """See Vector."""
        return np.asarray(self._env.reset()[0])[None]

    def step(self, actions: Array) -> tuple[Array, Array, Array]:
        """See Vector."""
        observation, reward, terminated, truncated, _ = self._env.step(actions[0])
        has_ended = terminated or truncated
        if has_ended:
            observation, _ = self._env.reset()
        return np.asarray(observation)[None], np.array([reward]), np.array([has_ended])

    def close(self) -> None:
        """See Vector."""
        self._env.close()

    def abandon(self) -> None:
        """See Vector."""


#: From functions that make environments to a vector of these.
Vectorize = Callable[[list[Maker]], Vector]
