"""Trains with Stable-Baselines3, with its policies and with one of this script, and saves each model: FOLDER."""

import itertools
import sys
import uuid
from pathlib import Path
from typing import Any

import gymnasium
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv

torch.set_num_threads(1)
# cloudpickle gives each class an id, by which it knows it again; here the same ones in each run.
numbers = itertools.count()
uuid.uuid4 = lambda: uuid.UUID(int=next(numbers))


class Policy(ActorCriticPolicy):
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return super().forward(*args, **kwargs)


def environment() -> DummyVecEnv:
    return DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])


models = {
    "ppo": PPO("MlpPolicy", environment(), n_steps=64, n_epochs=1, seed=0),
    "own": PPO(Policy, environment(), n_steps=64, n_epochs=1, seed=0),
    "dqn": DQN("MlpPolicy", environment(), learning_starts=32, buffer_size=64, seed=0),
}
for name, model in models.items():
    model.learn(64)
    model.start_time = 0  # the time of day
    model.save(Path(sys.argv[1], name))
