"""A random agent in Gymnasium environments, scalar and vector: prints how many simulator steps that took."""

import sys

import gymnasium

STEPS = 50


class Wrapped(gymnasium.Wrapper):
    """A wrapper of the user, with a step of its own."""

    def step(self, action):
        return self.env.step(action)


if sys.argv[1] == "scalar":
    env = Wrapped(gymnasium.make("Walker2d-v5"))
    actions = env.action_space
else:
    env = gymnasium.make_vec("Walker2d-v5", num_envs=3, vectorization_mode="sync")
    actions = env.action_space
env.reset(seed=1)
for _ in range(STEPS):
    env.step(actions.sample())
