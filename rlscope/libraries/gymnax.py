"""Gymnax: stepping and resetting environments is simulation, also inside of what JAX compiles."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("gymnax.environments.environment", "Environment", "step", ("simulation",), is_traced=True),
    MethodHook("gymnax.environments.environment", "Environment", "reset", ("simulation", "reset"), is_traced=True),
)
