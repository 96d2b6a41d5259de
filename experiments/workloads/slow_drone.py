"""This file hovers in a simulator that takes a stated number of milliseconds a step, in place of photo-realistic ones.

    gymnasium.make("slow_drone:SlowDrone-v0", milliseconds=50.0)

The simulator is slow_simulator.cpp beside this file, which `make simulators` compiles.
"""

from typing import Any

import gymnasium
import numpy as np
import slow_simulator
from numpy.typing import NDArray

import rlscope

Observation = NDArray[np.float32]

START_M = 1.0
LOST_M = 10.0
GRAVITY = 9.81
ACCELERATION = 5.0

rlscope.wrap_module(slow_simulator, category="simulator")


class SlowDrone(gymnasium.Env[Observation, Observation]):
    """A point mass that is to stay at the origin; the action is how much it accelerates, beyond what carries it.

    Args:
        milliseconds: What each step, and each reset, computes in the simulator.
    """

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (6,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)

    def __init__(self, milliseconds: float = 50.0) -> None:
        self._milliseconds = milliseconds
        self._position = self._velocity = (0.0, 0.0, 0.0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start somewhere near the origin."""
        super().reset(seed=seed)
        x, y, z = self.np_random.uniform(-START_M, START_M, size=3).tolist()
        self._position, self._velocity = (x, y, z), (0.0, 0.0, 0.0)
        return self._fly(np.zeros(3, np.float32)), {}

    def step(self, action: Observation) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Fly for 0.05 s; the reward is the negative distance from the origin."""
        observation = self._fly(action)
        distance = float(np.linalg.norm(observation[:3]))
        return observation, -distance, distance > LOST_M, False, {}

    def _fly(self, action: Observation) -> Observation:
        x, y, z = (ACCELERATION * action).tolist()
        self._position, self._velocity = slow_simulator.step(
            self._position, self._velocity, (x, y, z + GRAVITY), self._milliseconds
        )
        return np.array(self._position + self._velocity, np.float32)


gymnasium.register("SlowDrone-v0", entry_point=f"{__name__}:SlowDrone", max_episode_steps=200)
