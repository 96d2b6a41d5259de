"""This file times environments: how long their steps and resets take, and which steps end their episodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Timing:
    """Times of an environment that sleeps, so that more of them than there are cores take their time side by side.

    Attributes:
        step_s: of a step, in seconds.
        reset_s: that a reset takes in addition, after the step that ends an episode.
        reset_probability: that a step ends its episode; None where episodes have a length.
        episode_length: in steps; None where their ends are drawn.
        phase: of episodes with a length: "together" if all environments begin one at the same time, "random" if each
            is somewhere in its first one when it begins.
    """

    step_s: float
    reset_s: float
    reset_probability: float | None = None
    episode_length: int | None = None
    phase: str = "random"


def ends_of(timing: Timing, seed: int, environment: int) -> Iterator[bool]:
    """Yield of each step of one environment whether it ends an episode; without end, and always the same."""
    generator = np.random.default_rng([seed, environment])
    if timing.episode_length is None:
        probability = timing.reset_probability or 0.0
        while True:
            yield bool(generator.random() < probability)
    taken = int(generator.integers(timing.episode_length)) if timing.phase == "random" else 0
    while True:
        taken += 1
        yield taken % timing.episode_length == 0


def draw_resets(timing: Timing, seed: int, environments: int, steps: int) -> NDArray[np.bool_]:
    """Return which steps of a run end an episode, and are followed by a reset.

    Args:
        timing: of the environments.
        seed: of the run.
        environments: N.
        steps: of each environment in the whole run, T times the number of iterations.

    Returns:
        Whether, of shape [steps, environments]. Environment n draws the same whatever the number of environments.
    """
    ends = [list(islice(ends_of(timing, seed, environment), steps)) for environment in range(environments)]
    return np.array(ends, bool).reshape(environments, steps).T
