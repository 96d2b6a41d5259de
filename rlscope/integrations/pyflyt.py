"""PyFlyt: stepping and resetting its simulator is simulation, also without an environment around it."""

from rlscope.record.hooks import FunctionHook, MethodHook

HOOKS: tuple[FunctionHook | MethodHook, ...] = (
    MethodHook("PyFlyt.core.aviary", "Aviary", "step", ("simulation",)),
    MethodHook("PyFlyt.core.aviary", "Aviary", "reset", ("simulation", "reset")),
)
