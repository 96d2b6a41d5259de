"""Gym before Gymnasium: stepping and resetting environments, scalar and vector, is simulation."""

from rlscope.record.hooks import FunctionHook, MethodHook

HOOKS: tuple[FunctionHook | MethodHook, ...] = (
    MethodHook("gym.core", "Env", "step", ("simulation",)),
    MethodHook("gym.core", "Env", "reset", ("simulation", "reset")),
    MethodHook("gym.core", "Env", "render", ("simulation", "render")),
    MethodHook("gym.vector.vector_env", "VectorEnv", "step", ("simulation",)),
    MethodHook("gym.vector.vector_env", "VectorEnv", "reset", ("simulation", "reset")),
)
