"""Stable-Baselines3's PPO and TD3 on Walker2d-v5 with the library's own hyper-parameters, trained a block at a time.

As a command it trains for so many timesteps: `python -m benchmarks.workloads ppo 4096`.
"""

import sys
from collections.abc import Callable

import gymnasium
import torch
from stable_baselines3 import PPO, TD3
from stable_baselines3.common.base_class import BaseAlgorithm

#: Timesteps of about a second's training: one iteration of PPO.
BLOCK_TIMESTEPS = {"ppo": 2048, "td3": 200}


def make_agent(algorithm: str) -> BaseAlgorithm:
    """An agent that has trained for a block, so that nothing is done for the first time any more."""
    torch.set_num_threads(1)
    env = gymnasium.make("Walker2d-v5")
    agent: BaseAlgorithm
    if algorithm == "ppo":
        agent = PPO("MlpPolicy", env, seed=1, device="cpu")
    else:
        agent = TD3("MlpPolicy", env, seed=1, device="cpu", learning_starts=100)
    train_block(agent, algorithm)
    return agent


def train_block(agent: BaseAlgorithm, algorithm: str, blocks: int = 1) -> None:
    """Goes on training."""
    agent.learn(blocks * BLOCK_TIMESTEPS[algorithm], reset_num_timesteps=False)


def blocks_of(algorithm: str) -> Callable[[], None]:
    """A new agent's training, one block per call."""
    agent = make_agent(algorithm)
    return lambda: train_block(agent, algorithm)


def main() -> None:
    """Trains for as many timesteps as the command line says."""
    algorithm, timesteps = sys.argv[1], int(sys.argv[2])
    make_agent(algorithm).learn(timesteps, reset_num_timesteps=False)


if __name__ == "__main__":
    main()
