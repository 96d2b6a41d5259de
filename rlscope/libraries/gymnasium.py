"""Gymnasium: stepping and resetting environments, scalar and vector, is simulation."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("gymnasium.core", "Env", "step", ("simulation",), steps="one"),
    MethodHook("gymnasium.core", "Env", "reset", ("simulation", "reset")),
    MethodHook("gymnasium.core", "Env", "render", ("simulation", "render")),
    MethodHook("gymnasium.vector.vector_env", "VectorEnv", "step", ("simulation",), steps="num_envs"),
    MethodHook("gymnasium.vector.vector_env", "VectorEnv", "reset", ("simulation", "reset")),
    MethodHook("gymnasium.vector.vector_env", "VectorEnv", "step_async", ("simulation",)),
    MethodHook("gymnasium.vector.vector_env", "VectorEnv", "step_wait", ("simulation",), steps="num_envs"),
)
