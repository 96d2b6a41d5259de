"""What the programs that make updates share: the command line, the environment's shape, weights by layer.

They find the workloads on PYTHONPATH.
"""

import argparse
import dataclasses
from typing import Any

import gymnasium
import numpy as np
from hyperparameters import ALGORITHMS, Hyperparameters

UPDATES = 2

Weights = dict[str, np.ndarray]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("problem", help="weights and one batch (.npz)")
    parser.add_argument("output", help="weights after two updates (.npz)")
    parser.add_argument("--algo", choices=("td3", "ddpg"), required=True)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--adam", default="device")
    return parser.parse_args()


def noiseless(algo: str) -> Hyperparameters:
    """The published hyper-parameters, without the one thing that is random in an update."""
    return dataclasses.replace(ALGORITHMS[algo], target_noise=0.0)


class Shape(gymnasium.Env):
    """An environment that only says how large observations and actions are."""

    def __init__(self, problem: Weights) -> None:
        observation, action = (problem[name].shape[1:] for name in ("observation", "action"))
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, observation, np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, action, np.float32)

    def reset(self, **options: Any) -> tuple[np.ndarray, dict]:
        return np.zeros(self.observation_space.shape, np.float32), {}


def networks(problem: Weights) -> list[str]:
    """actor, critic0 and, if there are two, critic1."""
    return sorted({key.split(".")[0] for key in problem if key.endswith(".w")})


def layers(problem: Weights, network: str) -> int:
    return sum(key.startswith(f"{network}.") and key.endswith(".w") for key in problem)
