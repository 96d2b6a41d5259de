"""Gym before Gymnasium: stepping and resetting environments, scalar and vector, is simulation."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("gym.core", "Env", "step", ("simulation",)),
    MethodHook("gym.core", "Env", "reset", ("simulation", "reset")),
    MethodHook("gym.core", "Env", "render", ("simulation", "render")),
    MethodHook("gym.vector.vector_env", "VectorEnv", "step", ("simulation",)),
    MethodHook("gym.vector.vector_env", "VectorEnv", "reset", ("simulation", "reset")),
)
