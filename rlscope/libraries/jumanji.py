"""Jumanji: stepping and resetting environments is simulation, also inside of what JAX compiles."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("jumanji.env", "Environment", "step", ("simulation",), is_traced=True),
    MethodHook("jumanji.env", "Environment", "reset", ("simulation", "reset"), is_traced=True),
    MethodHook("jumanji.env", "Environment", "render", ("simulation", "render")),
)
