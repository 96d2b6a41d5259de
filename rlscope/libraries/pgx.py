"""Pgx: stepping and resetting environments is simulation, also inside of what JAX compiles."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("pgx.core", "Env", "step", ("simulation",), is_traced=True),
    MethodHook("pgx.core", "Env", "init", ("simulation", "reset"), is_traced=True),
)
