"""A small policy that acts and is updated for real; nobody looks at what it learns."""

import numpy
import torch
from numpy.typing import NDArray
from torch import nn

import rlscope
from sampling.collected import Batch

WIDTH = 64
DEVIATION = 0.5

Weights = dict[str, NDArray[numpy.float32]]


class Policy:
    """A Gaussian policy with two hidden layers, for actions in [-1, 1].

    Args:
        observation: numbers in an observation.
        action: numbers in an action.
        seed: of its weights and of its noise.

    Attributes:
        network: from observations to the means of actions.
    """

    def __init__(self, observation: int, action: int, seed: int) -> None:
        torch.manual_seed(seed)
        self.network = nn.Sequential(
            nn.Linear(observation, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, action)
        )

    def act(self, observations: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
        """Actions for observations, one in each row."""
        with rlscope.operation("inference"), torch.no_grad():
            means = self.network(torch.from_numpy(observations))
            return (means + DEVIATION * torch.randn_like(means)).clamp_(-1, 1).numpy()

    def weights(self) -> Weights:
        """As arrays, which travel between processes."""
        return {name: tensor.numpy() for name, tensor in self.network.state_dict().items()}

    def set_weights(self, weights: Weights) -> None:
        """Those of another policy."""
        self.network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})


class Learner:
    """Updates a policy, in the process that learns: to make an optimizer takes seconds in each process.

    Args:
        policy: to be updated.
    """

    def __init__(self, policy: Policy) -> None:
        self._network = policy.network
        self._optimizer = torch.optim.Adam(self._network.parameters(), 1e-4)

    def update(self, batch: Batch) -> None:
        """One step towards actions that were rewarded above the average."""
        advantages = torch.from_numpy(batch.rewards - batch.rewards.mean())
        means = self._network(torch.from_numpy(batch.observations))
        misses = (torch.from_numpy(batch.actions) - means).square().sum(1) / (2 * DEVIATION**2)
        self._optimizer.zero_grad()
        (misses * advantages).mean().backward()
        self._optimizer.step()
