"""Learns without a library: in a table, beside an environment that is known or not, or with a network in NumPy.

Prints nothing; the argument says which.
"""

import sys
import time
from typing import Any

import gymnasium
import numpy as np

SECONDS = 4


class Walk:
    """An environment of the program's own, which no library knows."""

    def __init__(self) -> None:
        self.place = 0

    def reset(self, seed: int = 0) -> tuple[int, dict[str, int]]:
        self.place = seed
        return self.place, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, int]]:
        self.place = max(0, self.place + 2 * (action % 2) - 1)
        return self.place, float(self.place == 20), self.place == 20, False, {}


class Table:
    """Q-learning; an observation is a number."""

    def __init__(self) -> None:
        self.values = np.zeros((500, 6))

    def act(self, state: int) -> int:
        return int(np.argmax(self.values[state] + 0.1 * np.random.random(6)))

    def learn(self, state: int, action: int, reward: float, reached: int) -> None:
        for _ in range(8):  # more of the time than all else
            wanted = reward + 0.99 * self.values[reached].max()
            self.values[state, action] += 0.1 * (wanted - self.values[state, action])


class Network:
    """Two layers, whose gradients are written by hand."""

    def __init__(self) -> None:
        self.layers = [0.1 * np.random.standard_normal(shape) for shape in ((4, 256), (256, 2))]

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        hidden = np.tanh(x @ self.layers[0])
        return hidden, hidden @ self.layers[1]

    def act(self, state: np.ndarray) -> int:
        return int(self.forward(state)[1].argmax())

    def learn(self, state: np.ndarray, action: int, reward: float, reached: np.ndarray) -> None:
        states = np.repeat(state[None], 64, axis=0)
        hidden, scores = self.forward(states)
        error = (scores - reward) / len(states)
        inside = (error @ self.layers[1].T) * (1 - hidden**2)
        self.layers[0] -= 1e-3 * states.T @ inside
        self.layers[1] -= 1e-3 * hidden.T @ error


def main(kind: str) -> None:
    env: Any = Walk() if kind == "own" else gymnasium.make("CartPole-v1" if kind == "network" else "Taxi-v3")
    learner: Any = Network() if kind == "network" else Table()
    state, _ = env.reset(seed=1)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        action = learner.act(state)
        reached, reward, ended, cut, _ = env.step(action)
        learner.learn(state, action, reward, reached)
        state = env.reset()[0] if ended or cut else reached


main(sys.argv[1])
