"""What CartPole's native implementations must do, in NumPy and double precision: numbers, actions, starts, steps."""

import numpy
from cartpole.implementation import MOST_STEPS, START, Policy
from numpy.typing import NDArray

Array = NDArray[numpy.float64]
Words = NDArray[numpy.uint64]

#: What numbers are drawn for, as cartpole.h counts it, and the steps of a window.
WINDOWS, DRAWS, FIRST = 0, 1, 2
WINDOW = 8

LOW = numpy.uint64(0xFFFFFFFF)


def philox(counter: Words, key: tuple[int, int]) -> Words:
    """Philox4x32 with ten rounds, as its authors describe it.

    Args:
        counter: of shape (..., 4), 32 bits in each.
        key: two numbers of 32 bits.

    Returns:
        Four numbers of 32 bits for each counter.
    """
    a, b, c, d = numpy.moveaxis(counter.astype(numpy.uint64), -1, 0)
    for turn in range(10):
        first, second = numpy.uint64(0xD2511F53) * a, numpy.uint64(0xCD9E8D57) * c
        left = numpy.uint64((key[0] + turn * 0x9E3779B9) % 2**32)
        right = numpy.uint64((key[1] + turn * 0xBB67AE85) % 2**32)
        shift = numpy.uint64(32)
        a, b, c, d = (second >> shift) ^ b ^ left, second & LOW, (first >> shift) ^ d ^ right, first & LOW
    return numpy.stack([a, b, c, d], -1)


def drawn(environments: int, when: int, purpose: int, seed: int) -> Words:
    """The four numbers of each environment."""
    counter = numpy.zeros((environments, 4), numpy.uint64)
    counter[:, 0] = numpy.arange(environments)
    counter[:, 1], counter[:, 2], counter[:, 3] = when % 2**32, when >> 32, purpose
    return philox(counter, (seed % 2**32, seed >> 32))


def uniform(words: Words) -> Array:
    """In [0, 1), from the upper 24 bits."""
    return (words >> numpy.uint64(8)).astype(numpy.float64) / 2**24


def starts(words: Words) -> Array:
    """New states, of shape (N, 4)."""
    return (2 * uniform(words) - 1) * START


def random_actions(environments: int, step: int, seed: int) -> NDArray[numpy.int64]:
    """What `simulate` does in a step, of shape (N,)."""
    words = drawn(environments, step // WINDOW, WINDOWS, seed)
    return ((words[:, 0] >> numpy.uint64(step % WINDOW)) & numpy.uint64(1)).astype(numpy.int64)


def draws(environments: int, step: int, seed: int) -> Array:
    """The numbers that decide actions in a step, of shape (N,): 1 where they lie below its probability."""
    return uniform(drawn(environments, step // 4, DRAWS, seed)[:, step % 4])


def moved(states: Array, actions: NDArray[numpy.int64], parts: int = 1) -> Array:
    """One step as Gymnasium's source has it, in so many equal parts."""
    x, x_dot, theta, theta_dot = states.astype(numpy.float64).T
    force = numpy.where(actions == 1, 10.0, -10.0)
    tau = 0.02 / parts
    for _ in range(parts):
        cosine, sine = numpy.cos(theta), numpy.sin(theta)
        temp = (force + 0.05 * theta_dot**2 * sine) / 1.1
        theta_acc = (9.8 * sine - cosine * temp) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        x_acc = temp - 0.05 * theta_acc * cosine / 1.1
        x, x_dot = x + tau * x_dot, x_dot + tau * x_acc
        theta, theta_dot = theta + tau * theta_dot, theta_dot + tau * theta_acc
    return numpy.stack([x, x_dot, theta, theta_dot], -1)


def ended(states: Array, steps: NDArray[numpy.int64]) -> tuple[NDArray[numpy.bool_], NDArray[numpy.bool_]]:
    """Whether states after a step have failed, and whether their episodes, that last so long, are cut off instead."""
    has_failed = (numpy.abs(states[:, 0]) > 2.4) | (numpy.abs(states[:, 2]) > 12 * 2 * numpy.pi / 360)
    return has_failed, (steps >= MOST_STEPS) & ~has_failed


def scores(policy: Policy, states: Array) -> Array:
    """How much more the policy speaks for action 1 than for action 0, of shape (N,)."""
    hidden = states.astype(numpy.float64)
    for weight, bias in zip(policy.weights[:-1], policy.biases[:-1], strict=True):
        hidden = numpy.tanh(hidden @ weight.astype(numpy.float64).T + bias)
    both = hidden @ policy.weights[-1].astype(numpy.float64).T + policy.biases[-1]
    return both[:, 1] - both[:, 0]


def score_error(policy: Policy, states: Array, operand: float, tanh: float) -> Array:
    """How far a kernel's scores may be off, of shape (N,): six times the errors of rounding, taken as independent.

    Args:
        policy: whose scores.
        states: of shape (N, 4).
        operand: relative error of each factor of a product, and of the sum of products.
        tanh: absolute error of a tanh.
    """

    def carried(error: Array, inputs: Array, weight: Array, bias: Array) -> Array:
        # Factors and sum are each off by `operand`, and inputs by what the layer before adds. Squares of errors.
        return error @ weight**2 + 3 * operand**2 * (inputs**2 @ weight**2 + bias**2)

    inputs, error = states.astype(numpy.float64), numpy.zeros(states.shape)
    for weight, bias in zip(policy.weights[:-1], policy.biases[:-1], strict=True):
        across = weight.astype(numpy.float64).T
        # The slope of tanh is at most one.
        error = carried(error, inputs, across, bias) + tanh**2
        inputs = numpy.tanh(inputs @ across + bias)
    weight, bias = policy.weights[-1].astype(numpy.float64), policy.biases[-1].astype(numpy.float64)
    return 6 * numpy.sqrt(carried(error, inputs, weight[1] - weight[0], bias[1] - bias[0]))


def probability(score: Array) -> Array:
    """Of action 1."""
    return 1 / (1 + numpy.exp(-score))
