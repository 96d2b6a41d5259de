"""This file holds the network of policy and value, and evaluates positions with it."""

from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from alphazero.settings import Settings
from rlscope import operation

#: Observations of n positions, of shape (n, planes, size, size).
Observations = NDArray[np.float32]
#: Of n positions: probabilities of all actions, of shape (n, actions), and values to the player whose turn it is, (n,).
Evaluations = tuple[NDArray[np.float32], NDArray[np.float32]]

#: As OpenSpiel observes Go: black, white, empty, whose turn it is.
PLANES = 4


class Block(nn.Module):
    """A residual block: two convolutions beside a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*convolution(channels, channels), nn.ReLU(), *convolution(channels, channels))

    def forward(self, x: Tensor) -> Tensor:
        """Return values of the same shape."""
        return torch.relu(x + self.layers(x))


def convolution(inputs: int, outputs: int, size: int = 3) -> tuple[nn.Module, nn.Module]:
    """Return a convolution that keeps the board's size, and batch normalization."""
    return nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False), nn.BatchNorm2d(outputs)


class Network(nn.Module):
    """A residual tower with two heads.

    Args:
        board_size: of the board, whose moves are its points and to pass.
        channels: of all convolutions but the heads'.
        blocks: of the tower.
    """

    def __init__(self, board_size: int, channels: int, blocks: int) -> None:
        super().__init__()
        points = board_size**2
        self.tower = nn.Sequential(*convolution(PLANES, channels), nn.ReLU(), *(Block(channels) for _ in range(blocks)))
        self.policy = nn.Sequential(
            *convolution(channels, 2, size=1), nn.ReLU(), nn.Flatten(), nn.Linear(2 * points, points + 1)
        )
        self.value = nn.Sequential(
            *convolution(channels, 1, size=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(points, channels),
            nn.ReLU(),
            nn.Linear(channels, 1),
            nn.Tanh(),
        )

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits of shape (n, actions), and values of shape (n,)."""
        features = self.tower(observations)
        return self.policy(features), self.value(features).squeeze(-1)


def load(settings: Settings, path: Path) -> Network:
    """Return the network whose parameters are in the file, on the device."""
    network = Network(settings.board_size, settings.channels, settings.blocks)
    network.load_state_dict(torch.load(path, weights_only=True))
    return network.to(settings.device)


class Evaluator(Protocol):
    """This says where positions are evaluated: in this process, or in another."""

    def evaluate(self, observations: Observations) -> Evaluations:
        """Return the network's verdict on all positions at once."""


class LocalEvaluator:
    """A network in this process."""

    def __init__(self, network: Network, device: str) -> None:
        self._network = network.eval()
        self._device = device

    @torch.inference_mode()
    def evaluate(self, observations: Observations) -> Evaluations:
        """Return the network's verdict on all positions at once."""
        with operation("inference"):
            logits, values = self._network(torch.from_numpy(observations).to(self._device))
            return torch.softmax(logits, dim=-1).cpu().numpy(), values.cpu().numpy()
