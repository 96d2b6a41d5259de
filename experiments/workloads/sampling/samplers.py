"""This file finds a way to sample by its name."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from sampling.collected import Collected
from sampling.settings import Settings


class Sampler(Protocol):
    """Environments, the policy that acts in them, and what updates it.

    Attributes:
        runners: the processes that step environments: "worker", "pid", and with Ray the address of the "node".
    """

    @property
    def runners(self) -> list[dict[str, Any]]:
        """See the attributes."""

    def collect(self) -> Collected:
        """Sample: T steps of each environment.

        Raises:
            AllLostError: nothing is left that samples.
        """

    def optimize(self, batch: Any) -> None:
        """Update the policy with what was collected."""

    def close(self) -> None:
        """End all processes."""


def lock_step(settings: Settings, vector: str, **options: bool) -> Sampler:
    """Return environments that all wait for each other, in one of the vectors of `sampling.vectors`."""
    from sampling import vectors
    from sampling.lock_step import LockStep

    return LockStep(settings, list(range(settings.environments)), partial(getattr(vectors, vector), **options))


def free(settings: Settings) -> Sampler:
    """Return processes of our own, which only wait for each other when all their steps are taken."""
    from sampling.free import Free

    return Free(settings)


def rllib(settings: Settings) -> Sampler:
    """Return RLlib's env runners: as `free`, but Ray actors."""
    from sampling.cluster import set_variables

    set_variables()
    from sampling.rllib_runners import Rllib

    return Rllib(settings)


SAMPLERS: dict[str, Callable[[Settings], Sampler]] = {
    # Stable-Baselines3's DummyVecEnv: one process steps one environment after another.
    "sb3_dummy": partial(lock_step, vector="StableBaselines3", is_parallel=False),
    # Its SubprocVecEnv, and Gymnasium's AsyncVectorEnv: a process for each environment.
    "sb3_subproc": partial(lock_step, vector="StableBaselines3", is_parallel=True),
    "gymnasium_async": partial(lock_step, vector="Gymnasium"),
    "free": free,
    "rllib": rllib,
}
