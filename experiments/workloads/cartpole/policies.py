"""This file makes the policy's parameters from a seed, without any framework, as PyTorch's linear layers begin."""

import itertools

import numpy as np

from cartpole.implementation import WIDTHS, Floats, Policy


def make_policy(seed: int, widths: tuple[int, ...] = WIDTHS) -> Policy:
    """Return weights and biases drawn evenly from within 1 / sqrt(inputs) of zero (Kaiming's rule as
    torch.nn.Linear has it).

    The same seed gives the same policy with any version of any framework.
    """
    random = np.random.default_rng(seed)

    def drawn(shape: tuple[int, ...], inputs: int) -> Floats:
        limit = inputs**-0.5
        return random.uniform(-limit, limit, shape).astype(np.float32)

    layers = [(drawn((to, of), of), drawn((to,), of)) for of, to in itertools.pairwise(widths)]
    return Policy(tuple(weight for weight, _ in layers), tuple(bias for _, bias in layers))
