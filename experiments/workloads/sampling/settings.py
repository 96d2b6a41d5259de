"""This file holds the settings of a run of the sampling workload."""

from dataclasses import dataclass

from timed_environment import Timing


@dataclass(frozen=True)
class Settings:
    """The options of a run; every process is given all of them.

    Attributes:
        sampler: how environments are stepped: a name of `sampling.samplers.SAMPLERS`.
        environments: N.
        environments_per_worker: E: so many wait for each other in every step.
        steps: T, of each environment in an iteration.
        iterations: of sampling and optimising.
        timing: of environments that sleep; None for a real one.
        optimize_s: that optimising takes, in seconds, at least; None for as long as the update takes.
        seed: of episodes' ends, and of the policy.
        is_cluster: whether Ray runs on two nodes.
    """

    sampler: str
    environments: int
    environments_per_worker: int
    steps: int
    iterations: int
    timing: Timing | None
    optimize_s: float | None
    seed: int
    is_cluster: bool = False

    @property
    def workers(self) -> int:
        """Return W, how many groups of environments do not wait for each other."""
        return self.environments // self.environments_per_worker
