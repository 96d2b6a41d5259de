"""Turns a function into one that runs inside scopes; it looks, pickles and inspects like the original."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from rlscope._native import Scope


def scoped(function: Callable[..., Any], *scopes: Scope) -> Callable[..., Any]:
    """Wraps `function` so that each call runs inside `scopes`, the first one outermost.

    Raises:
        TypeError: `function` is a coroutine or generator function, whose body runs after the call returned.
    """
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError(
            f"an operation cannot decorate {function!r}: its body runs after the call has returned. "
            "Use `with rlscope.operation(...)` inside it."
        )
    if len(scopes) == 1:
        (scope,) = scopes

        @functools.wraps(function)
        def in_scope(*args: Any, **kwargs: Any) -> Any:
            with scope:
                return function(*args, **kwargs)

        return in_scope
    outer, inner = scopes

    @functools.wraps(function)
    def in_scopes(*args: Any, **kwargs: Any) -> Any:
        with outer, inner:
            return function(*args, **kwargs)

    return in_scopes
