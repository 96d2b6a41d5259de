"""This file holds the policy that acts in robots' environments, and the data that a trainer reads."""

from typing import Any, NamedTuple

import numpy as np
from cartpole.implementation import Floats, Policy
from cartpole.policies import make_policy

from robots.model import Robot
from robots.source import sizes_of

#: Width of the two hidden layers: policy.h's kHidden.
HIDDEN = 64


class Gaussian(NamedTuple):
    """Actions are drawn around the means that a network gives.

    Attributes:
        means: the network, with tanh between its layers.
        log_deviations: logarithm of the standard deviation of each action.
    """

    means: Policy
    log_deviations: Floats


class Data(NamedTuple):
    """This is what a trainer reads of K steps of N environments.

    Attributes:
        observations: before each step and after the last, of shape (K + 1, N, observations), float32.
        actions: as drawn, of shape (K, N, motors), float32; motors give at most 1.
        log_probabilities: of these actions, of shape (K, N), float32.
        rewards: likewise.
        ends: 0, or cartpole.h's kTerminated or kTruncated, uint8.
    """

    observations: Any
    actions: Any
    log_probabilities: Any
    rewards: Any
    ends: Any


def widths_of(robot: Robot) -> tuple[int, ...]:
    """Return the widths of the network's layers, its inputs first."""
    sizes = sizes_of(robot)
    return (sizes["observations"], HIDDEN, HIDDEN, sizes["motors"])


def make_gaussian(robot: Robot, seed: int) -> Gaussian:
    """Return a policy drawn from a seed, with standard deviations of 1."""
    widths = widths_of(robot)
    return Gaussian(make_policy(seed, widths), np.zeros(widths[-1], np.float32))


def room(library: Any, robot: Robot, steps: int, environments: int) -> Data:
    """Return empty data, of NumPy or CuPy."""
    observations, *_, motors = widths_of(robot)
    shape = (steps, environments)
    return Data(
        library.empty((steps + 1, environments, observations), np.float32),
        library.empty((*shape, motors), np.float32),
        library.empty(shape, np.float32),
        library.empty(shape, np.float32),
        library.empty(shape, np.uint8),
    )


def packed(policy: Gaussian) -> Floats:
    """Return the parameters as policy.h has them, whose last layer comes in whole fours."""
    *layers, (third, third_bias) = zip(policy.means.weights, policy.means.biases, strict=True)
    missing = (0, -len(third_bias) % 4)
    layers += [(np.pad(third, (missing, (0, 0))), np.pad(third_bias, missing))]
    parts = [part.ravel() for weight, bias in layers for part in (weight.T, bias)]
    return np.concatenate([*parts, np.pad(policy.log_deviations, missing)]).astype(np.float32)
