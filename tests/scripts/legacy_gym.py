"""A random agent in an environment of gym 0.23, whose step returns four values."""

import warnings

warnings.simplefilter("ignore")
import gym  # noqa: E402


class Legacy(gym.Env):
    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def reset(self):
        return 0

    def step(self, action):
        return 0, 0.0, False, {}


env = gym.wrappers.TimeLimit(Legacy(), max_episode_steps=1000)
env.reset()
for _ in range(40):
    observation, reward, is_done, info = env.step(0)
print("done")
