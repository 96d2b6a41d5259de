"""Finds native functions by their dotted names, and intercepts them."""

from __future__ import annotations

import types
from importlib import import_module

from rlscope import _native

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def resolve(dotted: str) -> Any | None:
    """The object behind a dotted name, None where this version of the library has no such thing.

    A part that ends in `()` stands for the type of what calling it returns, where the type itself has no public name.
    """
    parts = dotted.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:split]))
        except ImportError:
            continue
        for attribute in parts[split:]:
            name = attribute.removesuffix("()")
            # From the type's own dictionary, so that methods come as descriptors and nothing is bound.
            found = vars(found).get(name) if isinstance(found, type) else getattr(found, name, None)
            if found is None:
                return None
            if name != attribute:
                found = type(found())
        return unwrapped(found)
    return None


def unwrapped(function: Any) -> Any:
    """The function inside a staticmethod, classmethod or instancemethod object."""
    return getattr(function, "__func__", function) if not isinstance(function, types.MethodType) else function


def full_name(dotted: str, function: Any) -> str:
    """The name under which a function is recorded: where its type says it lives, else where it was found."""
    owner = getattr(function, "__objclass__", None)
    return f"{owner.__module__}.{owner.__qualname__}.{function.__name__}" if owner else dotted


def intercept_named(names: Iterable[str], category: int) -> int:
    """Intercepts the functions of these dotted names. Returns how many were found."""
    count = 0
    for dotted in names:
        function = resolve(dotted)
        if function is not None:
            count += _native.intercept(function, full_name(dotted, function), category)
    return count
