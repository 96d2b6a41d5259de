"""Trains PPO or TD3 with the callback that logs shares, into progress.csv; prints the windows that it read."""

import json
import sys

import gymnasium as gym
import torch
from noted_windows import note_windows, windows
from stable_baselines3 import PPO, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.logger import configure

from rlscope.callbacks.stable_baselines3 import TrainingShares

torch.set_num_threads(1)
algorithm, folder = sys.argv[1:]
note_windows()
model: BaseAlgorithm
callbacks = [TrainingShares()]
if algorithm == "ppo":
    model = PPO("MlpPolicy", gym.make("CartPole-v1"), n_steps=128, n_epochs=1, seed=0, device="cpu")
    callbacks.append(EvalCallback(gym.make("CartPole-v1"), n_eval_episodes=1, eval_freq=300, verbose=0))
else:
    small = {"net_arch": [16]}
    model = TD3("MlpPolicy", gym.make("Pendulum-v1"), policy_kwargs=small, batch_size=16, seed=0, device="cpu")
model.set_logger(configure(folder, ["csv"]))
model.learn(640 if algorithm == "ppo" else 450, callback=callbacks, log_interval=1)
print(json.dumps(windows))
