"""Attributes that were replaced, so that they can be put back."""

from __future__ import annotations

import sys

from rlscope import _native

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Replacements:
    """The attributes that have been replaced in modules and classes."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._also: list[Callable[[], Any]] = []

    def put(self, target: Any, name: str, original: Any, replacement: Any) -> None:
        """Put `replacement` in the place of `original`, which is None where the target itself had none."""
        setattr(target, name, replacement)
        self._replaced.append((target, name, original, replacement))

    def put_everywhere(self, original: Any, replacement: Any) -> None:
        """Put `replacement` in the place of a function under every name that a module has for it."""
        for module in [module for module in sys.modules.values() if isinstance(module, type(sys))]:
            for name in [name for name, value in vars(module).items() if value is original]:
                self.put(module, name, original, replacement)

    def replace(self, target: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        """Put `wrap(original)` in the place of an attribute of a module's or class's own."""
        original = vars(target)[name]
        self.put(target, name, original, wrap(original))

    def original_of(self, replacement: Any) -> Any | None:
        """Return what `replacement` stands for; None if it is no replacement."""
        return next((original for _, _, original, each in self._replaced if each is replacement), None)

    def on_restore(self, callback: Callable[[], Any]) -> None:
        """Call `callback` once when everything is put back: for what is no attribute."""
        self._also.append(callback)

    def restore(self) -> None:
        """Put everything back, unless somebody else has replaced it since."""
        for target, name, original, replacement in reversed(self._replaced):
            names = _native.names_of(target) if isinstance(target, type) else vars(target)
            if names.get(name) is not replacement:
                continue
            if original is None:
                delattr(target, name)
            else:
                setattr(target, name, original)
        self._replaced.clear()
        for callback in self._also:
            callback()
        self._also.clear()
