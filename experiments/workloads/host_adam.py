"""This file is Adam on the host: a step pulls gradients out of PyTorch, computes in NumPy and pushes weights back."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class HostAdam(torch.optim.Optimizer):
    """This is torch.optim.Adam with the detour of the original DDPG, whose MPI Adam works on one flat array."""

    def __init__(self, weights: Any, lr: float, betas: tuple[float, float], eps: float) -> None:
        super().__init__(weights, {"lr": lr, "betas": betas, "eps": eps})
        (group,) = self.param_groups
        size = sum(weight.numel() for weight in group["params"])
        self._mean, self._square = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self._steps = 0

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take one step."""
        (group,) = self.param_groups
        gradient = np.concatenate([weight.grad.cpu().numpy().ravel() for weight in group["params"]])
        self._steps += 1
        first, second = group["betas"]
        self._mean += (1 - first) * (gradient - self._mean)
        self._square += (1 - second) * (gradient**2 - self._square)
        mean, square = self._mean / (1 - first**self._steps), self._square / (1 - second**self._steps)
        change = group["lr"] * mean / (np.sqrt(square) + group["eps"])
        self._push(group["params"], change)

    def _push(self, weights: list[torch.Tensor], change: np.ndarray) -> None:
        start = 0
        for weight in weights:
            end = start + weight.numel()
            host = weight.cpu().numpy() - change[start:end].reshape(weight.shape)
            weight.copy_(torch.from_numpy(host))
            start = end
