"""This file holds a small policy that acts and is updated for real; nobody looks at what it learns."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import rlscope
from sampling.collected import Batch

WIDTH = 64
DEVIATION = 0.5
RATE = 1e-3

Weights = dict[str, NDArray[np.float32]]


class Policy:
    """A Gaussian policy with two hidden layers, for actions in [-1, 1].

    Args:
        observation: numbers in an observation.
        action: numbers in an action.
        seed: of its weights and of its noise.
    """

    def __init__(self, observation: int, action: int, seed: int) -> None:
        torch.manual_seed(seed)
        self._network = nn.Sequential(
            nn.Linear(observation, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, action)
        )

    def act(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return actions for observations, one in each row."""
        with rlscope.operation("inference"), torch.no_grad():
            means = self._network(torch.from_numpy(observations))
            return (means + DEVIATION * torch.randn_like(means)).clamp_(-1, 1).numpy()

    def update(self, batch: Batch) -> None:
        """Make one step of gradient descent towards actions that were rewarded above the average.

        Without an optimizer of PyTorch's: to make the first one of a process takes seconds.
        """
        parameters = list(self._network.parameters())
        advantages = torch.from_numpy(batch.rewards - batch.rewards.mean())
        means = self._network(torch.from_numpy(batch.observations))
        misses = (torch.from_numpy(batch.actions) - means).square().sum(1) / (2 * DEVIATION**2)
        gradients = torch.autograd.grad((misses * advantages).mean(), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= RATE * gradient

    def weights(self) -> Weights:
        """Return the weights as arrays, which travel between processes."""
        return {name: tensor.numpy() for name, tensor in self._network.state_dict().items()}

    def set_weights(self, weights: Weights) -> None:
        """Take the weights of another policy."""
        self._network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
