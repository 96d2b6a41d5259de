"""cloudpickle: a class that it brings into another process is made empty and given its methods afterwards.

Worker processes get the classes of a script so, from Stable-Baselines3 and, with its own copy, from Ray.
"""

from collections.abc import Callable
from typing import Any

from rlscope.record.declared.kinds import Hook, WrapperHook
from rlscope.record.declared.subclasses import tell_of_class


def _filling(fill: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that gives a class its methods."""

    def filling(cls: type, *state: Any) -> Any:
        result = fill(cls, *state)
        tell_of_class(cls)
        return result

    return filling


HOOKS: tuple[Hook, ...] = tuple(
    WrapperHook(f"{package}cloudpickle.cloudpickle", ("_class_setstate",), _filling) for package in ("", "ray.")
)
