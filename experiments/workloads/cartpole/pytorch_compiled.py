"""This file runs CartPole and policy in PyTorch, a step at a time: `torch.compile` makes each step one function."""

import torch

from cartpole.implementation import Policy
from cartpole.pytorch import Environments, Function


class Compiled(Environments):
    """K steps are a loop in Python over one compiled function.

    It is compiled for exactly so many environments. PyTorch keeps eight versions of a function at most and refuses to
    make more, so those of whoever was made before are given up.
    """

    name = "PyTorch compiled"

    def __init__(self, environments: int, steps_per_call: int, device: str, seed: int, policy: Policy) -> None:
        torch.compiler.reset()
        super().__init__(environments, steps_per_call, device, seed, policy)

    def _prepared(self, function: Function) -> Function:
        return torch.compile(function, fullgraph=True, dynamic=False)
