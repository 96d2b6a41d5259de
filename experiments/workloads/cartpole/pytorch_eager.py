"""CartPole and policy in PyTorch, call by call: each operation of each step is a call from Python, whatever K is."""

from cartpole.pytorch import Environments


class Eager(Environments):
    """K steps are a loop in Python over some thirty operations on tensors of all environments."""

    name = "PyTorch"
