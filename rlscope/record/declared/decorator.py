"""Turns a function into one that runs inside scopes; it looks, pickles and inspects like the original."""

import contextlib
import functools
import inspect
import types
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from rlscope._native import Scope


def scoped(function: Callable[..., Any], *scopes: Scope) -> Callable[..., Any]:
    """Wrap `function` so that each call runs inside `scopes`, the first one outermost.

    A coroutine or generator function becomes another one of its kind, whose scopes are open while its body runs.
    """
    wrap = _wrapper_of_steps(function) or _in_scope
    wrapped = function
    for scope in reversed(scopes):
        wrapped = functools.wraps(function)(wrap(wrapped, scope))
    if wrap is _in_scope and isinstance(function, types.FunctionType):
        with contextlib.suppress(TypeError, ValueError):  # inspect.getfullargspec does not look behind wrappers
            wrapped.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return wrapped


def _wrapper_of_steps(function: Callable[..., Any]) -> Callable[[Callable[..., Any], Scope], Callable[..., Any]] | None:
    """Return what wraps a function whose body runs in steps; None if the body of `function` runs when it is called."""
    if inspect.iscoroutinefunction(function):
        return _coroutine_in_scope
    if inspect.isasyncgenfunction(function):
        return _async_generator_in_scope
    if not inspect.isgeneratorfunction(function):
        return None
    is_coroutine = function.__code__.co_flags & inspect.CO_ITERABLE_COROUTINE
    return _iterable_coroutine_in_scope if is_coroutine else _generator_in_scope


def _in_scope(function: Callable[..., Any], scope: Scope) -> Callable[..., Any]:
    def in_scope(*args: Any, **kwargs: Any) -> Any:
        with scope:
            return function(*args, **kwargs)

    return in_scope


def _coroutine_in_scope(function: Callable[..., Any], scope: Scope) -> Callable[..., Any]:
    async def in_scope(*args: Any, **kwargs: Any) -> Any:
        with scope:
            return await function(*args, **kwargs)

    return in_scope


def _generator_in_scope(function: Callable[..., Any], scope: Scope) -> Callable[..., Generator[Any, Any, Any]]:
    def in_scope(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with scope:
            return (yield from function(*args, **kwargs))

    return in_scope


def _iterable_coroutine_in_scope(function: Callable[..., Any], scope: Scope) -> Callable[..., Any]:
    return types.coroutine(_generator_in_scope(function, scope))


def _async_generator_in_scope(function: Callable[..., Any], scope: Scope) -> Callable[..., AsyncGenerator[Any, Any]]:
    """`yield from` as there is none in asynchronous generators: what is sent or thrown in goes to the inner one."""

    async def in_scope(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        with scope:
            inner = function(*args, **kwargs)
            step = inner.__anext__()
            while True:
                try:
                    value = await step
                except StopAsyncIteration:
                    return
                try:
                    step = inner.asend((yield value))
                except GeneratorExit:
                    await inner.aclose()
                    raise
                except BaseException as error:  # the inner one decides what becomes of it
                    step = inner.athrow(error)

    return in_scope
