"""Random agents in ALE's own vector environment, once step by step and once by its two halves."""

import sys

import ale_py
import gymnasium
import numpy as np

STEPS = 40

gymnasium.register_envs(ale_py)
env = gymnasium.make_vec("ALE/Pong-v5", num_envs=3, vectorization_mode="vector_entry_point", num_threads=1)
actions = np.arange(3)
env.reset(seed=1)
for _ in range(STEPS):
    env.step(actions)
if sys.argv[1] == "halves":
    for _ in range(STEPS):
        env.unwrapped.send(actions)
        env.unwrapped.recv()
