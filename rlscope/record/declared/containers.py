"""Finds and intercepts all native functions of a container: a module or a type."""

import types
from collections.abc import Iterator
from typing import Any

from rlscope import _native
from rlscope.model import Category
from rlscope.record.native_names import unwrapped

#: One PyMethodDef serves the `__new__` of every built-in type, and CPython compares its pointer.
NEVER = frozenset({"__new__", "__init_subclass__", "__subclasshook__", "__class_getitem__"})


def native_functions(container: Any) -> Iterator[tuple[str, Any]]:
    """Names and objects of the native functions in the container's own dictionary (never inherited ones)."""
    is_plain = isinstance(container, type | types.ModuleType)
    for name, value in list(vars(container if is_plain else type(container)).items()):
        function = unwrapped(value)
        if name not in NEVER and is_native(function):
            yield name, function


def is_native(function: Any) -> bool:
    """Tell whether this is a function or method of native code, of whichever kind."""
    kinds = types.BuiltinFunctionType | types.MethodDescriptorType | types.ClassMethodDescriptorType
    made = ("nb_func", "nb_method", "cython_function_or_method")  # by nanobind and Cython
    return isinstance(function, kinds) or type(function).__name__ in made


def intercept_container(dotted: str, container: Any, category: Category, not_crossings: frozenset[str]) -> int:
    """Intercept every native function of a module or type, and return how many there were."""
    return sum(
        _native.intercept(function, f"{dotted}.{name}", category)
        for name, function in native_functions(container)
        if name not in not_crossings
    )
