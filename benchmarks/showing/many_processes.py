"""Train PPO with sixteen simulators, each a process: `python -m benchmarks.showing.many_processes TIMESTEPS`."""

import sys

import gymnasium
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import SubprocVecEnv

SIMULATORS = 16
STEPS = 128  # of each simulator in an iteration


def make_env() -> gymnasium.Env:  # type: ignore[type-arg]
    """Return what each of them simulates."""
    return gymnasium.make("Walker2d-v5")


def main() -> None:
    """Train for as many timesteps as the command line says."""
    torch.set_num_threads(1)
    env = SubprocVecEnv([make_env] * SIMULATORS, start_method="fork")
    PPO("MlpPolicy", env, n_steps=STEPS, seed=1, device="cpu").learn(int(sys.argv[1]))
    env.close()


if __name__ == "__main__":
    main()
