"""Compiles a function, then records ten calls of it from inside the program."""

import sys

import torch

import rlscope


@torch.compile
def fused(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * torch.cos(x)


x = torch.ones(100)
fused(x)
with rlscope.profile(sys.argv[1]):
    for _ in range(10):
        fused(x)
