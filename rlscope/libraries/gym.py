"""Gym before Gymnasium: stepping and resetting environments, scalar and vector, is simulation."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("gym.core", "Env", "step", ("simulation",), steps="one"),
    MethodHook("gym.core", "Env", "reset", ("simulation", "reset")),
    MethodHook("gym.core", "Env", "render", ("simulation", "render")),
    MethodHook("gym.vector.vector_env", "VectorEnv", "step", ("simulation",), steps="num_envs"),
    MethodHook("gym.vector.vector_env", "VectorEnv", "reset", ("simulation", "reset")),
)
