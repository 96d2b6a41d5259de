"""Environments whose `step` comes from elsewhere, here and in a process that gets their classes pickled by cloudpickle.

The only argument is their library, gymnasium or gym.
"""

import importlib
import subprocess
import sys
import warnings

import cloudpickle

warnings.simplefilter("ignore")
library = importlib.import_module(sys.argv[1])


class Steps:
    def step(self, action):
        return action


class Mixed(Steps, library.Env):
    pass


class Own(library.Env):
    def step(self, action):
        return action


class Shared(library.Env):
    step = Own.step


class Static(library.Env):
    @staticmethod
    def step(action):
        return action


class OfClass(library.Env):
    @classmethod
    def step(cls, action):
        return action


def play():
    for kind in (Mixed, Own, Shared, Static, OfClass):
        assert kind().step(1) == 1


play()
child = "import cloudpickle, sys; cloudpickle.load(sys.stdin.buffer)()"
subprocess.run([sys.executable, "-W", "ignore", "-c", child], input=cloudpickle.dumps(play), check=True)
print("done")
