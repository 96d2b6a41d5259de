"""This file holds what sampling gives: a batch to learn from, and how long each step took."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Batch:
    """Samples of all environments, in rows."""

    observations: Floats
    actions: Floats
    rewards: Floats


@dataclass(frozen=True)
class VectorStep:
    """A step of environments that wait for each other.

    Attributes:
        observations, actions, rewards: of each environment, in rows.
        inference_ns: until there were actions.
        step_ns: until all environments were done with them.
        resets: environments that ended an episode.
    """

    observations: Floats
    actions: Floats
    rewards: Floats
    inference_ns: int
    step_ns: int
    resets: int


@dataclass(frozen=True)
class Collected:
    """This is what the sampling of an iteration gave.

    Attributes:
        batch: what there is to learn from, in the form that the sampler's own learner takes.
        samples: how many.
        resets: how many of them ended an episode.
        vector_steps: of all workers.
        inference_s, step_s: of all vector steps together.
        steps_without_reset: of the vector steps, those in which no environment ended an episode.
        step_without_reset_s: of all these together.
        worker_s: what each worker took for its steps.
        lost: processes that ended before their time: "worker", "pid" and how it "ended".
    """

    batch: Any
    samples: int
    resets: int
    vector_steps: int
    inference_s: float
    step_s: float
    steps_without_reset: int
    step_without_reset_s: float
    worker_s: list[float]
    lost: list[dict[str, Any]]


def collected(steps: Sequence[VectorStep], seconds: float, lost: list[dict[str, Any]]) -> Collected:
    """Return what one worker has collected, in so many seconds."""
    quiet = [step for step in steps if not step.resets]
    return Collected(
        batch=Batch(
            np.concatenate([step.observations for step in steps]),
            np.concatenate([step.actions for step in steps]),
            np.concatenate([step.rewards for step in steps]),
        ),
        samples=sum(len(step.rewards) for step in steps),
        resets=sum(step.resets for step in steps),
        vector_steps=len(steps),
        inference_s=sum(step.inference_ns for step in steps) / 1e9,
        step_s=sum(step.step_ns for step in steps) / 1e9,
        steps_without_reset=len(quiet),
        step_without_reset_s=sum(step.step_ns for step in quiet) / 1e9,
        worker_s=[seconds],
        lost=lost,
    )


def merged(parts: Sequence[Collected]) -> Collected:
    """Return what all workers have collected."""
    batches = [part.batch for part in parts]
    return Collected(
        batch=Batch(
            np.concatenate([batch.observations for batch in batches]),
            np.concatenate([batch.actions for batch in batches]),
            np.concatenate([batch.rewards for batch in batches]),
        ),
        samples=sum(part.samples for part in parts),
        resets=sum(part.resets for part in parts),
        vector_steps=sum(part.vector_steps for part in parts),
        inference_s=sum(part.inference_s for part in parts),
        step_s=sum(part.step_s for part in parts),
        steps_without_reset=sum(part.steps_without_reset for part in parts),
        step_without_reset_s=sum(part.step_without_reset_s for part in parts),
        worker_s=[seconds for part in parts for seconds in part.worker_s],
        lost=[lost for part in parts for lost in part.lost],
    )
