"""Finds native functions by their dotted names, and intercepts them."""

from __future__ import annotations

import sys

from rlscope import _native

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType
    from typing import Any


def resolve(dotted: str) -> Any | None:
    """Return the object behind a dotted name, None where this version of the library has no such thing.

    A part that ends in `()` stands for the type of what calling it returns, where the type itself has no public name.
    """
    first, *attributes = dotted.split(".")
    found: Any = _imported(first)
    for depth, attribute in enumerate(attributes, start=1):
        name = attribute.removesuffix("()")
        # Only a package has modules inside: for any other, an attempt to import one would cost more than all the rest.
        inside = _imported(".".join((first, *attributes[:depth]))) if hasattr(found, "__path__") else None
        if inside is not None:
            found = inside
            continue
        # From the type's own dictionary, so that methods come as descriptors and nothing is bound.
        found = vars(found).get(name) if isinstance(found, type) else getattr(found, name, None)
        if found is None:
            return None
        if name != attribute:
            found = type(found())
    return unwrapped(found)


def _imported(name: str) -> ModuleType | None:
    found = sys.modules.get(name)
    if found is not None:
        return found
    from importlib import import_module  # which most processes that a program starts do not need

    try:
        return import_module(name)
    except ImportError:
        return None


def unwrapped(function: Any) -> Any:
    """Return the function inside a staticmethod, classmethod or instancemethod object."""
    return getattr(function, "__func__", function) if not isinstance(function, _MethodType) else function


class _AnyMethod:
    def method(self) -> None: ...


_MethodType = type(_AnyMethod().method)  # as `types` has it, whose import takes longer than all of this


def full_name(dotted: str, function: Any) -> str:
    """Return the name under which a function is recorded: where its type says it lives, else where it was found."""
    owner = getattr(function, "__objclass__", None)
    return f"{owner.__module__}.{owner.__qualname__}.{function.__name__}" if owner else dotted


def intercept_named(names: Iterable[str], category: int) -> None:
    """Intercept the functions of these dotted names, as far as this version of the library has them."""
    for dotted in names:
        function = resolve(dotted)
        function = unwrapped(getattr(function, "__wrapped__", function))  # of one that a library's file has replaced
        if function is not None:
            _native.intercept(function, full_name(dotted, function), category)
