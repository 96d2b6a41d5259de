"""Optax: what an optimizer makes of gradients, and of parameters with them, belongs to the update."""

from collections.abc import Callable
from typing import Any

from rlscope.record.declared.hooks import in_operations
from rlscope.record.declared.kinds import FunctionHook, Hook, WrapperHook

UPDATE = "optax._src.update"
LEARNS = FunctionHook("optax._src.base", "GradientTransformation", ("backpropagation",), is_traced=True)


def _transforming(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what makes the pair of functions that every optimizer is: one begins its state, one transforms gradients."""

    def made(cls: type, *args: Any, **kwargs: Any) -> Any:
        pair = make(cls, *args, **kwargs)
        return pair._replace(update=in_operations(pair.update, LEARNS))

    return made


HOOKS: tuple[Hook, ...] = (
    WrapperHook("optax._src.base", ("GradientTransformation", "__new__"), _transforming),
    *(
        FunctionHook(module, name, operations, is_traced=True)
        for module in (UPDATE, "optax")
        for name, operations in (
            ("apply_updates", ("backpropagation",)),
            ("incremental_update", ("backpropagation", "update_target_network")),
            ("periodic_update", ("backpropagation", "update_target_network")),
        )
    ),
)
