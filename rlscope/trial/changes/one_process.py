"""Step the environments of a vector in the process that trains.

A message to another process and back takes longer than many a step.
"""

from types import ModuleType
from typing import Any

from rlscope.trial.change import Making

ALTERS = "nothing, unless environments share what is global to a process"
IS_OF_WALL = True
EXCLUDES = ("processes",)
#: What both vectors of Gymnasium take.
_SHARED = ("copy", "observation_mode", "autoreset_mode")


def prepare(making: Making) -> None:
    """Make a vector of one process where the program asks for one of several."""

    def of_stable_baselines3(module: ModuleType) -> None:
        def vector(env_fns: Any, *args: Any, **kwargs: Any) -> Any:
            making.met("SubprocVecEnv", "DummyVecEnv(...) in the place of SubprocVecEnv(...)")
            if making.is_on:
                from stable_baselines3.common.vec_env import DummyVecEnv

                return DummyVecEnv(env_fns)
            return None

        making.make_instead(module.SubprocVecEnv, vector)

    def of_gymnasium(module: ModuleType) -> None:
        def vector(env_fns: Any, *args: Any, **kwargs: Any) -> Any:
            if args or kwargs.get("worker"):  # whose meaning is that of its processes
                return None
            keep = 'SyncVectorEnv(...) in the place of AsyncVectorEnv(...), or vectorization_mode="sync"'
            making.met("AsyncVectorEnv", keep)
            if making.is_on:
                from gymnasium.vector import SyncVectorEnv

                return SyncVectorEnv(list(env_fns), **{name: kwargs[name] for name in _SHARED if name in kwargs})
            return None

        making.make_instead(module.AsyncVectorEnv, vector)

    making.after_import("stable_baselines3.common.vec_env.subproc_vec_env", of_stable_baselines3)
    making.after_import("gymnasium.vector.async_vector_env", of_gymnasium)
