"""Flax: a network that is applied or called where no stage is open is inference, also inside of what JAX compiles."""

from collections.abc import Callable
from typing import Any

from rlscope.libraries.jax import stage_of
from rlscope.record.declared.kinds import Hook, MethodHook, WrapperHook

COMPILATION = "flax.nnx.transforms.compilation"


def _calling(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a call of what nnx.jit has made: it takes networks apart, and a function of JAX gets their arrays."""

    def calling(made: Any, *args: Any, **kwargs: Any) -> Any:
        stage = stage_of(made.jitted_fn)
        if stage is None:
            return call(made, *args, **kwargs)
        with stage:
            return call(made, *args, **kwargs)

    return calling


HOOKS: tuple[Hook, ...] = (
    MethodHook("flax.linen.module", "Module", "apply", ("inference",), is_traced=True, is_default=True),
    MethodHook("flax.nnx.module", "Module", "__call__", ("inference",), is_traced=True, is_default=True),
    *(WrapperHook(COMPILATION, (kind, "__call__"), _calling) for kind in ("JitWrapped", "SimpleJitWrapped")),
)
