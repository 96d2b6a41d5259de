"""This file holds what every way to collect data on CartPole has in common.

The task is Gymnasium's `CartPole-v1`: its physics, its ends (the pole's angle, the cart's position, 500 steps), and a
new start within 0.05 of the origin in the same step that an episode ends. The policy is a network of 4-64-64-2 with
tanh between its layers, and draws its action from the two scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Actions = NDArray[np.int32]
Flags = NDArray[np.bool_]

#: Width of the policy's layers, its inputs first.
WIDTHS = (4, 64, 64, 2)
#: Episodes are cut off after so many steps.
MOST_STEPS = 500
#: New states are drawn uniformly from so far on either side of the origin.
START = 0.05


@dataclass(frozen=True)
class Policy:
    """The network's parameters; layer i computes x @ weights[i].T + biases[i].

    Attributes:
        weights: of shape (outputs, inputs), layer by layer.
        biases: of shape (outputs,), layer by layer.
    """

    weights: Sequence[Floats]
    biases: Sequence[Floats]


@dataclass(frozen=True)
class Trajectory:
    """This is what happened in K steps of N environments.

    Attributes:
        states: before each step, of shape (K + 1, N, 4); the last are those after it. After an episode's end a new
            start.
        actions: of shape (K, N), 0 or 1.
        terminated: whether the step ended the episode, of shape (K, N).
        truncated: whether it was cut off instead, of shape (K, N).
    """

    states: Floats
    actions: Actions
    terminated: Flags
    truncated: Flags


class Step(NamedTuple):
    """This is what one step did, in arrays of the library that made it, of shape (N,) each; of a loop of steps (K, N).

    Attributes:
        states: after it, of shape (4, N), or (K, 4, N).
        actions: 0 or 1.
        terminated: whether it ended the episode.
        truncated: whether the episode was cut off instead.
    """

    states: Any
    actions: Any
    terminated: Any
    truncated: Any


class Implementation(ABC):
    """N environments and a policy, on one device.

    Attributes:
        name: in tables and figures.
    """

    name: ClassVar[str]

    @abstractmethod
    def __init__(self, environments: int, steps_per_call: int, device: str, seed: int, policy: Policy) -> None:
        """Make the environments, at new starts.

        Args:
            environments: N.
            steps_per_call: K, how many steps one call of `collect` or `simulate` makes in each environment.
            device: "cpu" or "cuda".
            seed: of starts and of actions.
            policy: what acts.

        Raises:
            UnavailableError: this machine or this Python lacks what it needs.
            MemoryError: they do not fit; the message says the largest N that does.
        """

    @abstractmethod
    def collect(self) -> None:
        """Take K steps in each environment, with the actions that the policy draws. May return before the
        device is done.
        """

    @abstractmethod
    def simulate(self) -> None:
        """Take K steps with actions drawn evenly, and no policy."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until the device is done."""

    @abstractmethod
    def replay(self, states: Floats, steps: NDArray[np.int32], actions: Actions) -> Trajectory:
        """Return what given actions do, for tests: by the same code as `collect`.

        Args:
            states: to start from, of shape (N, 4).
            steps: that the episodes have lasted, of shape (N,).
            actions: of shape (K, N).
        """

    @abstractmethod
    def rollout(self) -> Trajectory:
        """Return what `collect` does, seen: K steps with the actions that the policy draws."""


class UnavailableError(RuntimeError):
    """An implementation cannot run here; the message says what it lacks."""
