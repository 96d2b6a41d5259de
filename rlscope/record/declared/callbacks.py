"""Python that native code calls: a function of the program that was given to a library counts as Python there."""

import functools
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

from rlscope import _native
from rlscope._native import Hooked
from rlscope.record.declared.hooks import Hooks
from rlscope.record.declared.subclasses import on_subclasses
from rlscope.record.native_names import resolve


def full_name(function: Callable[..., Any]) -> str:
    """Return the name under which a Python function is recorded."""
    return f"{function.__module__}.{function.__qualname__}"


def as_callback(value: Any) -> Any:
    """Return a function that counts as Python wherever it is called from; any other value as it is.

    Objects that can be called are left alone: native code may look at their type, as at ctypes' function pointers.
    """
    if type(value) not in (FunctionType, MethodType):
        return value
    return Hooked(value, (_native.callback(full_name(value)),))


def mark_callback(hooks: Hooks, owner: str, name: str, module: ModuleType) -> None:
    """Count what runs inside a method that native code calls, of a class or a subclass, as Python."""
    target = vars(module).get(owner)
    if not isinstance(target, type):
        return

    def mark(cls: type) -> None:
        method = vars(cls).get(name)
        if isinstance(method, FunctionType):
            hooks.put(cls, name, method, as_callback(method))

    on_subclasses(target, mark, hooks)


def mark_registered(hooks: Hooks, name: str, taker: str, module: ModuleType) -> None:
    """Count what native code calls because the module gave it to `taker`, when it was imported, as Python."""
    given, take = vars(module).get(name), resolve(taker)
    if given is None or take is None:
        return
    take(type(given)(*map(as_callback, given)) if isinstance(given, tuple) else as_callback(given))
    hooks.on_restore(functools.partial(take, given))


def mark_given_callbacks(hooks: Hooks, path: tuple[str, ...], module: ModuleType) -> None:
    """Count what native code calls because it was given to this function, or method of a class, as Python."""
    of_caller = len(path) - 1  # a method's first argument is its object

    def marking(function: Callable[..., Any]) -> Callable[..., Any]:
        def taking(*args: Any, **kwargs: Any) -> Any:
            given = map(as_callback, args[of_caller:])
            return function(*args[:of_caller], *given, **{key: as_callback(value) for key, value in kwargs.items()})

        return taking

    hooks.wrap(module, path, marking)
