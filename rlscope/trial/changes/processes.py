"""Step each environment of a vector in a process of its own.

It pays where a step takes longer than a message to another process and back.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from rlscope.trial.change import Making

ALTERS = "nothing, unless environments share what is global to a process"
IS_OF_WALL = True
EXCLUDES = ("one-process",)


def prepare(making: Making) -> None:
    """Make a vector of several processes where the program asks for one of one process with several environments."""

    def of_stable_baselines3(module: ModuleType) -> None:
        def vector(env_fns: Any, *args: Any, **kwargs: Any) -> Any:
            if len(env_fns) < 2:
                return None
            making.met("DummyVecEnv", 'SubprocVecEnv(..., start_method="fork") in the place of DummyVecEnv(...)')
            if making.is_on:
                from stable_baselines3.common.vec_env import SubprocVecEnv

                return SubprocVecEnv(env_fns, start_method="fork")  # others import the script again
            return None

        making.make_instead(module.DummyVecEnv, vector)

    def of_gymnasium(module: ModuleType) -> None:
        def vector(env_fns: Any, *args: Any, **kwargs: Any) -> Any:
            if args or (isinstance(env_fns, Sequence) and len(env_fns) < 2):
                return None
            keep = 'AsyncVectorEnv(...) in the place of SyncVectorEnv(...), or vectorization_mode="async"'
            making.met("SyncVectorEnv", keep)
            if making.is_on:
                from gymnasium.vector import AsyncVectorEnv

                return AsyncVectorEnv(list(env_fns), **kwargs)
            return None

        making.make_instead(module.SyncVectorEnv, vector)

    making.after_import("stable_baselines3.common.vec_env.dummy_vec_env", of_stable_baselines3)
    making.after_import("gymnasium.vector.sync_vector_env", of_gymnasium)
