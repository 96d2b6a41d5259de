"""This file holds what workloads give the training loop of Stable-Baselines3, and how they end it early."""

import argparse
from typing import Any

import numpy as np
from hyperparameters import Hyperparameters
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import VecEnv


class StopAfter(BaseCallback):
    """Ends training once this many timesteps are complete; schedules still span the whole training."""

    def __init__(self, timesteps: int) -> None:
        super().__init__()
        self.timesteps = timesteps

    def _on_step(self) -> bool:
        # The step that exceeds the limit opens a further iteration, so that the last one wanted ends as all others do.
        return self.num_timesteps <= self.timesteps


def learn(agent: BaseAlgorithm, arguments: argparse.Namespace) -> None:
    """Train for as long as the command line says, and print how far that came."""
    agent.learn(arguments.total_timesteps, callback=StopAfter(arguments.stop_after or arguments.total_timesteps))
    print(f"{arguments.algo} on {arguments.env}: {agent.num_timesteps} timesteps")


def off_policy_options(algorithm: Hyperparameters, envs: VecEnv, seed: int) -> dict[str, Any]:
    """Return how an off-policy agent collects and samples, as its constructor takes it."""
    noise = np.full(envs.action_space.shape or (), algorithm.exploration_noise)
    return {
        "train_freq": (algorithm.steps, "step"),
        "gradient_steps": algorithm.updates,
        "learning_starts": algorithm.warm_up,
        "batch_size": algorithm.batch_size,
        "buffer_size": algorithm.buffer_size,
        "action_noise": NormalActionNoise(0 * noise, noise),
        "seed": seed,
    }
