"""Brax: stepping and resetting environments is simulation, also inside of what JAX compiles."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("brax.envs.base", "Env", "step", ("simulation",), is_traced=True),
    MethodHook("brax.envs.base", "Env", "reset", ("simulation", "reset"), is_traced=True),
)
