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


def sb3_dummy(settings: Settings) -> Sampler:
    """Return Stable-Baselines3's DummyVecEnv: one process steps one environment after another."""
    from sampling.lock_step import LockStep
    from sampling.vectors import StableBaselines3

    return LockStep(settings, list(range(settings.environments)), partial(StableBaselines3, is_parallel=False))


def sb3_subproc(settings: Settings) -> Sampler:
    """Return Stable-Baselines3's SubprocVecEnv: a process for each environment, in lock-step."""
    from sampling.lock_step import LockStep
    from sampling.vectors import StableBaselines3

    return LockStep(settings, list(range(settings.environments)), partial(StableBaselines3, is_parallel=True))


def gymnasium_async(settings: Settings) -> Sampler:
    """Return gymnasium's AsyncVectorEnv: a process for each environment, in lock-step."""
    from sampling.lock_step import LockStep
    from sampling.vectors import Gymnasium

    return LockStep(settings, list(range(settings.environments)), Gymnasium)


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
    "sb3_dummy": sb3_dummy,
    "sb3_subproc": sb3_subproc,
    "gymnasium_async": gymnasium_async,
    "free": free,
    "rllib": rllib,
}
