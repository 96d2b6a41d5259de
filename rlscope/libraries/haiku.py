"""Haiku: a network that is applied where no stage is open is inference, also inside of what JAX compiles."""

from collections.abc import Callable
from typing import Any

from rlscope.record.declared.hooks import in_operations
from rlscope.record.declared.kinds import Hook, MethodHook, WrapperHook
from rlscope.record.declared.tracing import noted_operations

TRANSFORM = "haiku._src.transform"
APPLY = MethodHook(TRANSFORM, "TransformedWithState", "apply", ("inference",), is_traced=True, is_default=True)


def _transforming(transform: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function with which all others make a pair of pure functions of a network."""

    def transforming(*args: Any, **kwargs: Any) -> Any:
        made = transform(*args, **kwargs)
        return made if noted_operations(made.apply) else made._replace(apply=in_operations(made.apply, APPLY))

    return transforming


HOOKS: tuple[Hook, ...] = tuple(
    WrapperHook(module, ("transform_with_state",), _transforming) for module in (TRANSFORM, "haiku")
)
