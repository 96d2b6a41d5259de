"""Knows which of the program's functions our Python functions stand for, for those who pickle functions by value."""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from rlscope._native import Hooked

Function = TypeVar("Function", bound=Callable[..., Any])

#: Of functions that stand in the place of others.
_originals: WeakKeyDictionary[Callable[..., Any], Callable[..., Any]] = WeakKeyDictionary()


def in_place_of(original: Callable[..., Any], function: Function) -> Function:
    """Return `function`, after noting what it stands for."""
    if function is not original:
        _originals[function] = original
    return function


def wraps(original: Callable[..., Any]) -> Callable[[Function], Function]:
    """Decorate a function as functools.wraps does, and note what it stands for."""

    def decorate(function: Function) -> Function:
        functools.update_wrapper(function, original)
        return in_place_of(original, function)

    return decorate


def original_of(value: Any) -> Any:
    """Return what a function stands for in the program; any other value as it is."""
    while type(value) in (FunctionType, Hooked) and value in _originals:
        value = _originals[value]
    return value
