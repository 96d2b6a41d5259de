"""PPO of iterations of 16 steps: the argument says how many."""

import sys

import torch
from stable_baselines3 import PPO

STEPS = 16
torch.set_num_threads(1)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=STEPS, batch_size=STEPS, n_epochs=2, seed=1, device="cpu")
model.learn(STEPS * int(sys.argv[1]))
