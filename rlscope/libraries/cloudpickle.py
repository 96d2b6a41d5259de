"""cloudpickle: what it pickles by value is the program's own; a class that it brings into another process is met there.

Worker processes get the classes of a script so, from Stable-Baselines3 and, with its own copy, from Ray. Models that
Stable-Baselines3 saves hold some. A class is made empty in the other process, and given its methods afterwards.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any

from rlscope.record.declared.kinds import Hook, WrapperHook
from rlscope.record.declared.originals import original_of
from rlscope.record.declared.subclasses import tell_of_class


def _filling(fill: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that gives a class its methods."""

    def filling(cls: type, *state: Any) -> Any:
        result = fill(cls, *state)
        tell_of_class(cls)
        return result

    return filling


def _reducing(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method of the pickler that says how a function is made again, NotImplemented if it is pickled by name.

    What is pickled by name stays as it is: under that name lies what stands in its place.
    """

    def reducing(pickler: Any, value: Any) -> Any:
        function = value.__func__ if type(value) is MethodType else value
        original = original_of(function)
        if original is not function and function is not value and not _is_of_class(value):
            return MethodType, (original, value.__self__)
        reduced = reduce(pickler, value)
        if original is value or reduced is NotImplemented:
            return reduced
        of_original = reduce(pickler, original)
        return reduced if of_original is NotImplemented else of_original

    return reducing


def _is_of_class(method: MethodType) -> bool:
    """Tell whether a class has the method's function: what an instance gets of an inherited one lies nowhere."""
    cls = method.__self__ if isinstance(method.__self__, type) else type(method.__self__)
    values = (value for base in cls.__mro__ for value in vars(base).values())
    functions = (value.__func__ if type(value) in (staticmethod, classmethod) else value for value in values)
    return any(function is method.__func__ for function in functions)


HOOKS: tuple[Hook, ...] = tuple(
    WrapperHook(f"{package}cloudpickle.cloudpickle", path, wrap, is_always=True)
    for package in ("", "ray.")
    for path, wrap in ((("_class_setstate",), _filling), (("Pickler", "reducer_override"), _reducing))
)
