"""PyFlyt: stepping and resetting its simulator is simulation, also without an environment around it."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("PyFlyt.core.aviary", "Aviary", "step", ("simulation",)),
    MethodHook("PyFlyt.core.aviary", "Aviary", "reset", ("simulation", "reset")),
)
