"""Brax: environments are simulation and what applies gradients is backpropagation, also inside of what JAX compiles.

Its trainers compile acting, stepping and updating into one function, which is then one operation with three names.
"""

from collections.abc import Callable
from typing import Any

from rlscope.record.declared.hooks import in_operations
from rlscope.record.declared.kinds import FunctionHook, Hook, MethodHook, WrapperHook

GRADIENTS = ("brax.training.gradients", "gradient_update_fn")
UPDATE = FunctionHook(*GRADIENTS, ("backpropagation",), is_traced=True)


def _updating(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that makes what updates parameters."""

    def made(*args: Any, **kwargs: Any) -> Any:
        return in_operations(make(*args, **kwargs), UPDATE)

    return made


HOOKS: tuple[Hook, ...] = (
    MethodHook("brax.envs.base", "Env", "step", ("simulation",), is_traced=True),
    MethodHook("brax.envs.base", "Env", "reset", ("simulation", "reset"), is_traced=True),
    WrapperHook(GRADIENTS[0], GRADIENTS[1:], _updating),
)
