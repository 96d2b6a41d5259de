"""Runs a callback right after a module has been imported, without importing it earlier than the program does."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    import importlib.machinery
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType
    from typing import Any, TypeAlias

    Callback: TypeAlias = Callable[[ModuleType], None]


def notify(callback: Callback, module: ModuleType) -> None:
    """Call `callback(module)`; a version of a library that we do not fit must not break the program's import."""
    try:
        callback(module)
    except Exception as error:
        print(
            f"rlscope: {module.__name__} {getattr(module, '__version__', '(no version)')} is recorded in part only: "
            f"{type(error).__name__}: {error}. The program goes on.",
            file=sys.stderr,
        )


class _Loader:
    """Loads with the real loader, then runs the callbacks."""

    def __init__(self, loader: Any, on_import: Callback) -> None:
        self._loader = loader
        self._on_import = on_import

    def __getattr__(self, name: str) -> Any:
        """Return what else the loader has: `python -m` asks for the code of the module that it runs."""
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        # The module must not show who loaded it: pickling, reloading and resource lookups ask its loader.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        # Not earlier: a spec may be asked for without being loaded.
        self._on_import(module)


class ImportHooks:
    """The finder that knows which modules are waited for."""

    def __init__(self) -> None:
        self._callbacks: dict[str, list[Callback]] = {}
        self._inside: dict[str, list[Callback]] = {}
        self._searching: set[str] = set()
        self._before: dict[str, Callable[[str], None]] = {}

    def after_import(self, name: str, callback: Callback) -> None:
        """Call `callback(module)` after `name` was imported; at once if it is there already."""
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            notify(callback, module)
            return
        self._callbacks.setdefault(name, []).append(callback)

    def after_imports_inside(self, package: str, callback: Callback) -> None:
        """Call `callback(module)` after each import of a module inside `package`."""
        self._inside.setdefault(f"{package}.", []).append(callback)

    def before_packages(self, names: Iterable[str], callback: Callable[[str], None]) -> None:
        """Call `callback(name)` once for each of these packages, before its import; at once if it is there already."""
        for name in names:
            if name in sys.modules:
                callback(name)
            else:
                self._before[name] = callback

    def install(self) -> None:
        """Take the first place among the finders."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Leaves nothing behind."""
        self._callbacks.clear()
        self._inside.clear()
        self._before.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module that is waited for through the other finders; return None for any other."""
        before = self._before.pop(fullname, None)
        if before is not None:
            before(fullname)
        is_awaited = fullname in self._callbacks or fullname.startswith(tuple(self._inside))
        if not is_awaited or fullname in self._searching:
            return None
        self._searching.add(fullname)
        try:
            spec = self._found_by_others(fullname, path, target)
        finally:
            self._searching.discard(fullname)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        spec.loader = _Loader(spec.loader, self._on_import)  # type: ignore[assignment]  # it has what is called
        return spec

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None) if finder is not self else None
            spec: importlib.machinery.ModuleSpec | None = find(fullname, path, target) if find is not None else None
            if spec is not None:
                return spec
        return None

    def _on_import(self, module: ModuleType) -> None:
        for callback in self._callbacks.get(module.__name__, ()):  # which may add to the list
            notify(callback, module)
        self._callbacks.pop(module.__name__, None)
        for package, callbacks in list(self._inside.items()):
            if module.__name__.startswith(package):
                for callback in callbacks:
                    notify(callback, module)
