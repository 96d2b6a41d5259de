"""This file trains Stable-Baselines3's PPO and TD3 with the library's hyper-parameters, part by part.

As a command it trains for so many timesteps: `python -m benchmarks.recording.workloads ppo 4096`.
"""

import itertools
import sys
from collections.abc import Callable

import gymnasium
import torch
from stable_baselines3 import PPO, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

#: What a name on a command line trains on. CartPole takes no time of its own: that PPO crosses most often.
ENVIRONMENTS = {"ppo": "Walker2d-v5", "td3": "Walker2d-v5", "ppo_cartpole": "CartPole-v1"}
#: Timesteps of about a second's training: one iteration of PPO.
BLOCK_TIMESTEPS = {"ppo": 2048, "td3": 200, "ppo_cartpole": 2048}
#: What a burst of some 30 ms holds: timesteps, and of PPO's update, which follows them, minibatches.
BURST_TIMESTEPS = {"ppo": 64, "td3": 4, "ppo_cartpole": 64}
BURST_MINIBATCHES = 10
#: More than is ever trained; a record of progress holds no larger one.
WHOLE_TIMESTEPS = 10**12
#: Bursts of a block; PPO goes ten times through its timesteps, 64 at a time.
BLOCK_BURSTS = {
    name: timesteps // BURST_TIMESTEPS[name] + (0 if name == "td3" else 10 * timesteps // 64 // BURST_MINIBATCHES)
    for name, timesteps in BLOCK_TIMESTEPS.items()
}


class _EndBursts(BaseCallback):
    """Ends a burst every so many timesteps."""

    def __init__(self, tick: Callable[[], None], timesteps: int) -> None:
        super().__init__()
        self._tick = tick
        self._timesteps = timesteps

    def _on_step(self) -> bool:
        if self.n_calls % self._timesteps == 0:
            self._tick()
        return True


def make_agent(algorithm: str) -> BaseAlgorithm:
    """Return an agent that has trained for a block, so that nothing is done for the first time any more."""
    torch.set_num_threads(1)
    env = gymnasium.make(ENVIRONMENTS[algorithm])
    agent: BaseAlgorithm
    if algorithm == "td3":
        agent = TD3("MlpPolicy", env, seed=1, device="cpu", learning_starts=100)
    else:
        agent = PPO("MlpPolicy", env, seed=1, device="cpu")
    train_block(agent, algorithm)
    return agent


def train_block(agent: BaseAlgorithm, algorithm: str, blocks: int = 1) -> None:
    """Go on training."""
    agent.learn(blocks * BLOCK_TIMESTEPS[algorithm], reset_num_timesteps=False)


def blocks_of(algorithm: str) -> Callable[[], None]:
    """Return a new agent's training, one block per call."""
    agent = make_agent(algorithm)
    return lambda: train_block(agent, algorithm)


def train_in_bursts(algorithm: str, tick: Callable[[], None]) -> None:
    """Train a new agent until `tick`, which is called between bursts, end it."""
    agent = make_agent(algorithm)
    if isinstance(agent, PPO):
        minibatches = itertools.count(1)

        def after_minibatch(*_: object) -> None:
            if next(minibatches) % BURST_MINIBATCHES == 0:
                tick()

        agent.policy.optimizer.register_step_post_hook(after_minibatch)
    callback = _EndBursts(tick, BURST_TIMESTEPS[algorithm])
    agent.learn(WHOLE_TIMESTEPS, callback=callback, reset_num_timesteps=False)


def main() -> None:
    """Train for as many timesteps as the command line says."""
    algorithm, timesteps = sys.argv[1], int(sys.argv[2])
    make_agent(algorithm).learn(timesteps, reset_num_timesteps=False)


if __name__ == "__main__":
    main()
