"""Functions of modules that pybind11 or nanobind has made and no library's file knows, found when one is imported."""

import sys
from collections.abc import Callable, Collection, Iterator
from importlib.machinery import ExtensionFileLoader
from types import BuiltinFunctionType, ModuleType
from typing import Any

from rlscope import _native
from rlscope.model import Category
from rlscope.record.declared.originals import in_place_of
from rlscope.record.import_hooks import notify
from rlscope.record.native_names import unwrapped
from rlscope.record.replacements import Replacements

#: Of special methods these do work; the others, as of enumerations, tell of an object.
SPECIAL = ("__init__", "__call__")


class NativeModules:
    """Records calls of such functions as native code.

    Args:
        packages: The packages that are known; what is in their modules stays what it is.
        replacements: Where the loader of modules is replaced.
    """

    def __init__(self, packages: Collection[str], replacements: Replacements) -> None:
        self._packages = packages
        self._replacements = replacements
        self._is_following = False

    def follow(self) -> None:
        """Record those that are imported already and those that will be."""
        for module in list(sys.modules.values()):
            if isinstance(getattr(getattr(module, "__spec__", None), "loader", None), ExtensionFileLoader):
                self._meet(module)
        if not self._is_following:
            self._is_following = True
            self._replacements.replace(ExtensionFileLoader, "exec_module", self._noticing)

    def _noticing(self, load: Callable[..., Any]) -> Callable[..., Any]:
        return in_place_of(load, _native.Hooked(load, (), None, self._after_loading, set()))

    def _after_loading(self, loader: ExtensionFileLoader) -> None:
        module = sys.modules.get(loader.name)
        if module is not None:
            self._meet(module)

    def _meet(self, module: ModuleType) -> None:
        if module.__name__.partition(".")[0] not in self._packages:
            notify(_intercept_module, module)


def _intercept_module(module: ModuleType) -> None:
    for name, function in _made_functions(module.__name__, module):
        _native.intercept(function, name, Category.NATIVE)


def _made_functions(dotted: str, container: Any) -> Iterator[tuple[str, Any]]:
    """Yield the functions in a module, in its own classes and in the modules that it has made inside, by full names."""
    for name, value in list(vars(container).items()):
        function = unwrapped(value)
        if _is_made(function):
            if not name.startswith("__") or name in SPECIAL:
                yield f"{dotted}.{name}", function
        elif isinstance(container, ModuleType) and (
            _is_class(value, dotted) or (isinstance(value, ModuleType) and value.__name__ == f"{dotted}.{name}")
        ):
            yield from _made_functions(f"{dotted}.{name}", value)


def _is_made(function: Any) -> bool:
    """Tell whether pybind11 or nanobind has made a function: of the first the object behind it tells."""
    if type(function).__name__ in ("nb_func", "nb_method"):
        return True
    behind = type(function.__self__).__name__ if isinstance(function, BuiltinFunctionType) else ""
    return behind == "PyCapsule" or behind.startswith("pybind11_")


def _is_class(value: Any, module: str) -> bool:
    is_made = type(value).__name__.startswith(("pybind11_", "nb_type"))
    return isinstance(value, type) and value.__module__ == module and is_made
