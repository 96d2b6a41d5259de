"""This file runs CartPole and policy in PyTorch, call by call: Python calls each operation of each step."""

from cartpole.pytorch import Environments


class Eager(Environments):
    """K steps are a loop in Python over some thirty operations on tensors of all environments."""

    name = "PyTorch"
