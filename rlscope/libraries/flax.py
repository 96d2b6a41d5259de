"""Flax: a network that is applied where no stage is open is inference."""

from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (
    MethodHook("flax.linen.module", "Module", "apply", ("inference",), is_traced=True, is_default=True),
)
