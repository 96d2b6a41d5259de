"""What CartPole's native implementations must do, in NumPy and double precision: numbers, actions, starts, steps."""

from collections.abc import Sequence

import numpy as np
from cartpole.implementation import MOST_STEPS, START, Policy
from numpy.typing import NDArray

Array = NDArray[np.float64]
Words = NDArray[np.uint64]

#: What numbers are drawn for, as cartpole.h counts it, and the steps of a window.
WINDOWS, DRAWS, FIRST = 0, 1, 2
WINDOW = 8

LOW = np.uint64(0xFFFFFFFF)


def philox(counter: Words, key: tuple[int, int]) -> Words:
    """Philox4x32 with ten rounds, as its authors describe it.

    Args:
        counter: of shape (..., 4), 32 bits in each.
        key: two numbers of 32 bits.

    Returns:
        Four numbers of 32 bits for each counter.
    """
    a, b, c, d = np.moveaxis(counter.astype(np.uint64), -1, 0)
    for turn in range(10):
        first, second = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        left = np.uint64((key[0] + turn * 0x9E3779B9) % 2**32)
        right = np.uint64((key[1] + turn * 0xBB67AE85) % 2**32)
        shift = np.uint64(32)
        a, b, c, d = (second >> shift) ^ b ^ left, second & LOW, (first >> shift) ^ d ^ right, first & LOW
    return np.stack([a, b, c, d], -1)


def drawn(environments: int, when: int, purpose: int, seed: int) -> Words:
    """The four numbers of each environment."""
    counter = np.zeros((environments, 4), np.uint64)
    counter[:, 0] = np.arange(environments)
    counter[:, 1], counter[:, 2], counter[:, 3] = when % 2**32, when >> 32, purpose
    return philox(counter, (seed % 2**32, seed >> 32))


def uniform(words: Words) -> Array:
    """In [0, 1), from the upper 24 bits."""
    return (words >> np.uint64(8)).astype(np.float64) / 2**24


def starts(words: Words) -> Array:
    """New states, of shape (N, 4)."""
    return (2 * uniform(words) - 1) * START


def random_actions(environments: int, step: int, seed: int) -> NDArray[np.int64]:
    """What `simulate` does in a step, of shape (N,)."""
    words = drawn(environments, step // WINDOW, WINDOWS, seed)
    return ((words[:, 0] >> np.uint64(step % WINDOW)) & np.uint64(1)).astype(np.int64)


def draws(environments: int, step: int, seed: int) -> Array:
    """The numbers that decide actions in a step, of shape (N,): 1 where they lie below its probability."""
    return uniform(drawn(environments, step // 4, DRAWS, seed)[:, step % 4])


def moved(states: Array, actions: NDArray[np.int64], parts: int = 1) -> Array:
    """One step as Gymnasium's source has it, in so many equal parts."""
    x, x_dot, theta, theta_dot = states.astype(np.float64).T
    force = np.where(actions == 1, 10.0, -10.0)
    tau = 0.02 / parts
    for _ in range(parts):
        cosine, sine = np.cos(theta), np.sin(theta)
        temp = (force + 0.05 * theta_dot**2 * sine) / 1.1
        theta_acc = (9.8 * sine - cosine * temp) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        x_acc = temp - 0.05 * theta_acc * cosine / 1.1
        x, x_dot = x + tau * x_dot, x_dot + tau * x_acc
        theta, theta_dot = theta + tau * theta_dot, theta_dot + tau * theta_acc
    return np.stack([x, x_dot, theta, theta_dot], -1)


def ended(states: Array, steps: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether states after a step have failed, and whether their episodes, that last so long, are cut off instead."""
    has_failed = (np.abs(states[:, 0]) > 2.4) | (np.abs(states[:, 2]) > 12 * 2 * np.pi / 360)
    return has_failed, (steps >= MOST_STEPS) & ~has_failed


def scores(policy: Policy, states: Array) -> Array:
    """How much more the policy speaks for action 1 than for action 0, of shape (N,)."""
    return outputs(difference(policy), states)[:, 0]


def score_error(policy: Policy, states: Array, operand: float, tanh: float) -> Array:
    """How far a kernel's scores may be off, of shape (N,); see `output_error`."""
    return output_error(difference(policy), states, [operand] * len(policy.weights), tanh)[:, 0]


def difference(policy: Policy) -> Policy:
    """What gives the scores."""
    weights, biases = (
        [*parts[:-1], np.diff(parts[-1].astype(np.float64), axis=0)] for parts in (policy.weights, policy.biases)
    )
    return Policy(weights, biases)


def outputs(policy: Policy, inputs: Array) -> Array:
    """What the network gives, of shape (N, outputs)."""
    hidden = inputs.astype(np.float64)
    for weight, bias in zip(policy.weights[:-1], policy.biases[:-1], strict=True):
        hidden = np.tanh(hidden @ weight.astype(np.float64).T + bias)
    return hidden @ policy.weights[-1].astype(np.float64).T + policy.biases[-1]


def output_error(policy: Policy, inputs: Array, operands: Sequence[float], tanh: float) -> Array:
    """How far a kernel's outputs may be off, of shape (N, outputs): six times the errors of rounding, taken as
    independent.

    Args:
        policy: whose outputs.
        inputs: of shape (N, inputs).
        operands: for each layer, relative error of each factor of a product, and of the sum of products.
        tanh: absolute error of a tanh.
    """
    inputs, error = inputs.astype(np.float64), np.zeros(inputs.shape)
    for layer, (weight, bias, operand) in enumerate(zip(policy.weights, policy.biases, operands, strict=True)):
        if layer:
            # The slope of tanh is at most one.
            inputs, error = np.tanh(inputs), error + tanh**2
        across = weight.astype(np.float64).T
        # Factors and sum are each off by `operand`, and inputs by what the layer before adds. Squares of errors.
        error = error @ across**2 + 3 * operand**2 * (inputs**2 @ across**2 + bias**2)
        inputs = inputs @ across + bias
    return 6 * np.sqrt(error)


def probability(score: Array) -> Array:
    """Of action 1."""
    return 1 / (1 + np.exp(-score))


def simulated(environments: int, steps: int, seed: int, parts: int = 1) -> tuple[Array, NDArray[np.int64]]:
    """States after so many steps of `simulate` from the begin, and how long their episodes have lasted."""
    states, lasted = starts(drawn(environments, 0, FIRST, seed)), np.zeros(environments, int)
    for step in range(steps):
        states = moved(states, random_actions(environments, step, seed), parts)
        lasted += 1
        has_ended = np.logical_or(*ended(states, lasted))
        states[has_ended] = starts(drawn(environments, step // WINDOW, WINDOWS, seed))[has_ended]
        lasted[has_ended] = 0
    return states, lasted


def always(policy: Policy, action: int) -> Policy:
    """The policy with a last bias that leaves no other action."""
    return Policy(policy.weights, (*policy.biases[:-1], np.array([0, 100 if action else -100], np.float32)))
