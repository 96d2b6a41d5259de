"""This file models how long sampling takes where environments wait for each other and where they do not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlscope.errors import UsageError

#: Episodes of one length end in the same step in all environments, or each environment is somewhere else in its own.
TOGETHER, RANDOM = "together", "random"

Floats = NDArray[np.float64]
Resets = NDArray[np.bool_]


@dataclass(frozen=True)
class Sampling:
    """This says how an iteration of on-policy training collects its samples.

    Environments of one worker step in lock-step: the slowest sets the pace. Workers meet at the end of the rollout
    only. So all environments in one worker are what is called vectorised, one in each worker is batched.

    Attributes:
        environments: of all workers, N.
        environments_per_worker: E; N / E workers.
        steps: of each environment in an iteration, T.
        step_s: seconds of one environment's step.
        reset_s: seconds that the end of an episode adds to its last step.
        step_cv: standard deviation of a step over its mean; a step is gaussian, cut at 0.
        reset_probability: that a step ends an episode.
        episode_length: in steps, where episodes have one length instead.
        phase: TOGETHER or RANDOM, of episodes of one length.
        inference_s: seconds of inference for one vector step of a worker.
        synchronisation_s: seconds in which the workers meet, once in an iteration.
        optimize_s: seconds of the update in an iteration.
        overlap_learner: whether the update runs while the next samples are collected.
        sequential: whether a worker steps its environments one after the other, in one process.

    Raises:
        UsageError: A value has no meaning.
    """

    environments: int
    environments_per_worker: int
    steps: int
    step_s: float
    reset_s: float
    step_cv: float = 0.0
    reset_probability: float = 0.0
    episode_length: int | None = None
    phase: str = RANDOM
    inference_s: float = 0.0
    synchronisation_s: float = 0.0
    optimize_s: float = 0.0
    overlap_learner: bool = False
    sequential: bool = False

    def __post_init__(self) -> None:
        for name in ("environments", "environments_per_worker", "steps"):
            expect(getattr(self, name) >= 1, name, "1 or more", getattr(self, name))
        for name in ("step_s", "reset_s"):
            value = getattr(self, name)
            expect(0 < value < math.inf, name, "more than 0 seconds", value)
        for name in ("inference_s", "synchronisation_s", "optimize_s"):
            value = getattr(self, name)
            expect(0 <= value < math.inf, name, "0 seconds or more", value)
        expect(0 <= self.step_cv < math.inf, "step_cv", "0 or more", self.step_cv)
        expect(0 <= self.reset_probability <= 1, "reset_probability", "0 to 1", self.reset_probability)
        expect(self.phase in (TOGETHER, RANDOM), "phase", f"{TOGETHER} or {RANDOM}", self.phase)
        each, length = self.environments_per_worker, self.episode_length
        expect(each <= self.environments, "environments_per_worker", f"at most {self.environments}, all of them", each)
        whole = self.environments % each == 0
        expect(whole, "environments_per_worker", f"a divisor of {self.environments}, the environments", each)
        expect(length is None or length >= 1, "episode_length", "1 or more", length)
        ways = length is None or self.reset_probability == 0
        expect(ways, "episode_length", "this or reset_probability, not both", f"{length} and {self.reset_probability}")

    @property
    def workers(self) -> int:
        """Return the number of processes that step environments."""
        return self.environments // self.environments_per_worker

    @property
    def samples(self) -> int:
        """Return the samples of one iteration."""
        return self.environments * self.steps


@dataclass(frozen=True)
class Simulated:
    """Iterations of a simulation; arrays have one number for each.

    Attributes:
        step_s: seconds of one vector step without inference, the mean of all workers.
        sampling_s: seconds from the first step to the last worker's last.
        iteration_s: seconds of sampling and update.
        samples: of one iteration.
    """

    step_s: Floats
    sampling_s: Floats
    iteration_s: Floats
    samples: int

    @property
    def samples_per_s(self) -> float:
        """Return the samples per second while samples are collected, without the update."""
        return float(self.samples / self.sampling_s.mean())


def expect(holds: bool, name: str, expected: str, found: object) -> None:
    """Refuse a value.

    Raises:
        UsageError: It does not hold.
    """
    if not holds:
        raise UsageError(f"sampling: {name}: expected {expected}, found {found}")


def simulate(sampling: Sampling, generator: np.random.Generator, iterations: int) -> Simulated:
    """Simulate iterations; episodes of one length go on from one to the next."""
    drawn = draw(sampling, generator, iterations * sampling.steps)
    return simulated(sampling, cost_s(sampling, drawn, generator))


def replay(resets: Resets, sampling: Sampling) -> Simulated:
    """Simulate iterations with given ends of episodes, such as those of a measured run.

    Args:
        resets: whether a step ends an episode, [steps of all iterations, environments].
        sampling: the rest; how it would draw resets is not used.

    Raises:
        UsageError: The array does not have whole iterations of all environments, or steps vary.
    """
    shape = f"[a multiple of {sampling.steps}, {sampling.environments}]"
    fits = resets.ndim == 2 and resets.shape[1] == sampling.environments and len(resets) > 0
    expect(fits and len(resets) % sampling.steps == 0, "resets", f"an array of {shape}", list(resets.shape))
    expect(sampling.step_cv == 0, "step_cv", "0 in a replay", sampling.step_cv)
    costs = sampling.step_s + sampling.reset_s * resets.astype(np.float64)
    return simulated(sampling, costs)


def draw(sampling: Sampling, generator: np.random.Generator, steps: int) -> Resets:
    """Return which steps end an episode, [steps, environments]."""
    if sampling.episode_length is None:
        return generator.random((steps, sampling.environments)) < sampling.reset_probability
    offsets = generator.integers(sampling.episode_length, size=sampling.environments)
    ahead = 0 if sampling.phase == TOGETHER else offsets
    ages = np.arange(1, steps + 1)[:, np.newaxis] + np.zeros_like(offsets) + ahead
    ends: Resets = ages % sampling.episode_length == 0
    return ends


def cost_s(sampling: Sampling, resets: Resets, generator: np.random.Generator) -> Floats:
    """Return seconds of each step of each environment."""
    step_s: float | Floats = sampling.step_s
    if sampling.step_cv > 0:
        step_s = np.maximum(generator.normal(sampling.step_s, sampling.step_cv * sampling.step_s, resets.shape), 0)
    costs: Floats = step_s + sampling.reset_s * resets.astype(np.float64)
    return costs


def simulated(sampling: Sampling, costs: Floats) -> Simulated:
    """Return what steps of these seconds, [steps of all iterations, environments], amount to."""
    shape = (-1, sampling.steps, sampling.workers, sampling.environments_per_worker)
    each = costs.reshape(shape)
    vector_s = each.sum(axis=3) if sampling.sequential else each.max(axis=3)
    rollout_s = vector_s.sum(axis=1) + sampling.steps * sampling.inference_s
    sampling_s = rollout_s.max(axis=1) + sampling.synchronisation_s
    iteration_s = (
        np.maximum(sampling_s, sampling.optimize_s) if sampling.overlap_learner else sampling_s + sampling.optimize_s
    )
    return Simulated(vector_s.mean(axis=(1, 2)), sampling_s, iteration_s, sampling.samples)


def grid_mean_s(grid: Sequence[Sequence[float]]) -> float:
    """Mean of a vector step: a row of the grid has the seconds of each environment in one step.

    Raises:
        UsageError: There is no row, rows differ in length, or a time is not positive.
    """
    lengths = {len(row) for row in grid}
    expect(len(lengths) == 1 and 0 not in lengths, "grid", "rows of one length", [len(row) for row in grid])
    for row in grid:
        expect(min(row) > 0, "grid", "more than 0 seconds", min(row))
    return sum(max(row) for row in grid) / len(grid)


#: Inference of the talk where each worker has one environment; vectorised it is what the presets have.
BATCHED_INFERENCE_S = 0.001
#: The talk's vectorised sampling. It does not say how often episodes end: one preset has its 24 ms for a step, the
#: other its 150 s for the sampling of an iteration.
PRESETS = {
    name: Sampling(
        environments=24,
        environments_per_worker=24,
        steps=5000,
        step_s=0.003,
        reset_s=0.1,
        reset_probability=probability,
        inference_s=0.0008,
        optimize_s=13.0,
    )
    for name, probability in (("talk", 0.0098), ("talk, 150 s", 0.0126))
}
