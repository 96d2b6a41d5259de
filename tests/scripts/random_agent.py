"""A random agent in the environment that is named: prints how many steps it took in one episode."""

import sys

import ale_py
import gymnasium

gymnasium.register_envs(ale_py)
env = gymnasium.make(sys.argv[1], **({"repeat_action_probability": 0.0} if sys.argv[1].startswith("ALE") else {}))
env.action_space.seed(1)
env.reset(seed=1)
steps = 0
is_done = False
while not is_done and steps < 100:
    _, _, terminated, truncated, _ = env.step(env.action_space.sample())
    is_done = terminated or truncated
    steps += 1
print(steps)
