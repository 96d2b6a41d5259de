"""Runs a callback right after a module has been imported, without importing it earlier than the program does."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Callback = Callable[[ModuleType], None]


class _Loader(importlib.abc.Loader):
    """Loads with the real loader, then runs the callbacks."""

    def __init__(self, loader: importlib.abc.Loader, callbacks: list[Callback]) -> None:
        self._loader = loader
        self._callbacks = callbacks

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module must not show who loaded it: pickling, reloading and resource lookups ask its loader.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for callback in self._callbacks:
            callback(module)


class ImportHooks(importlib.abc.MetaPathFinder):
    """The finder that knows which modules are waited for."""

    def __init__(self) -> None:
        self._callbacks: dict[str, list[Callback]] = {}
        self._searching: set[str] = set()

    def after_import(self, name: str, callback: Callback) -> None:
        """Calls `callback(module)` after `name` was imported; at once if it is there already."""
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            callback(module)
            return
        self._callbacks.setdefault(name, []).append(callback)

    def install(self) -> None:
        """Takes the first place among the finders."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Leaves nothing behind."""
        self._callbacks.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Finds a module that is waited for through the other finders; None for any other."""
        if fullname not in self._callbacks or fullname in self._searching:
            return None
        self._searching.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching.discard(fullname)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        spec.loader = _Loader(spec.loader, self._callbacks.pop(fullname))
        return spec
