"""This file sets runs of the sampling workload beside the model with the same ends of episodes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.harness.execute import LOG, Execution, Run
from experiments.harness.progress import StudyRun
from experiments.harness.workload_output import figures_in
from experiments.parallel_sampling.lock_step import Resets, Sampling, Simulated, replay
from experiments.workloads.timed_environment import Timing, draw_resets

TIMED = "timed"
#: The sampler that steps its environments in one process, in turn.
SEQUENTIAL = "sb3_dummy"


@dataclass(frozen=True)
class Sampled:
    """A run of the workload.

    Attributes:
        name: of the workload in runs.toml.
        title: the sampler, for people.
        environment: "timed" or "real".
        repetition: of the workload, from 0.
        options: of its command line, without the dashes.
        figures: what it printed.
    """

    name: str
    title: str
    environment: str
    repetition: int
    options: Mapping[str, str]
    figures: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Return the text under a bar: the sampler, how many environments it has, and how many of them a worker has."""
        return f"{self.title}\nN = {self.environments}\nE = {self.figures['environments_per_worker']}"

    @property
    def environments(self) -> int:
        """Return the number of environments, N."""
        return int(self.figures["environments"])

    @property
    def steps(self) -> int:
        """Return the steps of each environment in an iteration, T."""
        return int(self.figures["steps"])

    @property
    def iterations(self) -> Sequence[Mapping[str, Any]]:
        """Return the iterations, in the order in which they were measured."""
        found: Sequence[Mapping[str, Any]] = self.figures["iterations"]
        return found

    @property
    def sampling_s(self) -> list[float]:
        """Return the seconds of sampling of each iteration, until the last worker is done."""
        return [float(iteration["sampling_s"]) for iteration in self.iterations]

    @property
    def optimize_s(self) -> list[float]:
        """Return the seconds of the update of each iteration."""
        return [float(iteration["optimize_s"]) for iteration in self.iterations]

    @property
    def samples_per_s(self) -> list[float]:
        """Return the samples per second of each iteration, while it samples."""
        return [float(iteration["samples"]) / float(iteration["sampling_s"]) for iteration in self.iterations]

    @property
    def resets(self) -> int:
        """Return the number of resets of all iterations."""
        return sum(int(iteration["resets"]) for iteration in self.iterations)

    @property
    def vector_step_s(self) -> list[float]:
        """Return the seconds of a vector step with its inference in each iteration, the mean of the workers.

        Workers that do not wait for each other end at different times. A long rollout evens that out, a short one
        does not, so this is what to compare with rollouts of another length.
        """
        workers_s = [iteration.get("worker_s") or [iteration["sampling_s"]] for iteration in self.iterations]
        return [float(np.mean(seconds)) / self.steps for seconds in workers_s]

    @property
    def inference_s(self) -> float:
        """Return the seconds of inference of a vector step."""
        return float(self.figures["inference_s"])

    @property
    def is_whole(self) -> bool:
        """Return whether no worker was lost."""
        return not self.figures["lost_workers"]

    @property
    def step_s(self) -> float:
        """Return the seconds of a step of one timed environment."""
        return float(self.options["step-ms"]) / 1000

    @cached_property
    def drawn(self) -> Resets:
        """Return the ends of episodes that the seed gave the timed environments, [steps of all iterations,
        environments].
        """
        chance = self.options.get("reset-probability")
        length = self.options.get("episode-length")
        timing = Timing(
            self.step_s,
            float(self.options["reset-ms"]) / 1000,
            float(chance) if chance else None,
            int(length) if length else None,
            self.options.get("phase", "random"),
        )
        seed = int(self.options.get("seed", 0))
        return draw_resets(timing, seed, self.environments, self.steps * len(self.iterations))

    @cached_property
    def replayed(self) -> Simulated:
        """Return what the model makes of the same ends of episodes, with the inference that was measured."""
        sampling = Sampling(
            environments=self.environments,
            environments_per_worker=int(self.figures["environments_per_worker"]),
            steps=self.steps,
            step_s=self.step_s,
            reset_s=float(self.options["reset-ms"]) / 1000,
            inference_s=self.inference_s,
            sequential=self.figures["sampler"] == SEQUENTIAL,
        )
        return replay(self.drawn, sampling)

    @property
    def to_model(self) -> list[float]:
        """Return the seconds of sampling of each iteration, over those that the model has for it."""
        return list(np.divide(self.sampling_s, self.replayed.sampling_s))


def sampled_runs(executed: Iterable[tuple[StudyRun, Execution]]) -> list[Sampled]:
    """Return what runs have printed.

    Raises:
        IncompleteTraceError: One has printed nothing about itself.
    """
    return [
        Sampled(
            study_run.workload.name,
            study_run.workload.label,
            study_run.workload.group,
            study_run.repetition,
            options_of(execution.run),
            figures_in(execution.trace.parent / LOG, execution.run.script.name),
        )
        for study_run, execution in executed
    ]


def options_of(run: Run) -> dict[str, str]:
    """Return the options of a command line that have a value, without the dashes; of two alike, the last."""
    pairs = pairwise([*run.arguments, "--"])
    return {
        name.removeprefix("--"): value for name, value in pairs if name.startswith("--") and not value.startswith("--")
    }
