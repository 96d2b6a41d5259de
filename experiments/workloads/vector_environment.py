"""This file makes the environments that Stable-Baselines3's agents train in: several of one kind, stepped in turn."""

import importlib
from collections.abc import Callable
from typing import Any

import gymnasium
from sb3_contrib.common.wrappers import TimeFeatureWrapper
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecFrameStack

#: What is to be imported before Gymnasium knows an id with this in it; other modules are named in the id itself.
REGISTERS = {"BulletEnv-": "pybullet_envs_gymnasium", "NoFrameskip-": "ale_py"}
#: Pictures in one observation of an Atari game.
FRAMES = 4


def register(env_id: str) -> None:
    """Import the package whose environments are known by such ids, if Gymnasium does not know them by itself."""
    for part, package in REGISTERS.items():
        if part in env_id:
            importlib.import_module(package)


def environments(env_id: str, count: int, seed: int, time_feature: bool) -> VecEnv:
    """Return `count` environments as they are, or with how much of the episode's time is left in their observations."""
    register(env_id)

    def make(index: int) -> Callable[[], gymnasium.Env[Any, Any]]:
        def build() -> gymnasium.Env[Any, Any]:
            env: gymnasium.Env[Any, Any] = Monitor(gymnasium.make(env_id))
            env.action_space.seed(seed + index)
            return TimeFeatureWrapper(env) if time_feature else env

        return build

    envs = DummyVecEnv([make(index) for index in range(count)])
    envs.seed(seed)
    return envs


def atari_environments(env_id: str, count: int, seed: int) -> VecEnv:
    """Return `count` Atari games with the usual wrappers: every fourth picture, small and grey, four in an
    observation.
    """
    register(env_id)
    return VecFrameStack(make_atari_env(env_id, count, seed), FRAMES)
