"""What is recorded of libraries: their boundaries, their operations, what the user names in them."""

import functools
from types import ModuleType

from rlscope import _native
from rlscope.boundaries.libraries import BOUNDARIES
from rlscope.integrations.libraries import HOOKS, PROFILERS
from rlscope.integrations.single_file import SingleFileScripts
from rlscope.model import Category
from rlscope.record.boundary import Boundary, intercept
from rlscope.record.config import RecordConfig
from rlscope.record.hooks import Hooks
from rlscope.record.import_hooks import ImportHooks
from rlscope.record.named_operations import NamedOperations
from rlscope.record.native_names import resolve


class Libraries:
    """Waits for libraries to be imported, and records what happens in them."""

    def __init__(self, config: RecordConfig, imports: ImportHooks) -> None:
        self._config = config
        self._imports = imports
        self._hooks = Hooks()
        self._boundaries = [each for each in BOUNDARIES if each.category.label in config.layers]
        self.named_operations = NamedOperations(config.operations, self._hooks, imports)
        self.single_file_scripts = SingleFileScripts()

    def install(self) -> None:
        """Hooks what has been imported, and what will be."""
        for boundary in self._boundaries:
            self._follow(boundary)
        if self._config.auto:
            for hook in HOOKS:
                self._imports.after_import(hook.module, functools.partial(self._hooks.apply, hook))
            self._imports.after_import("torch", self.single_file_scripts.install)
        self.named_operations.install()
        if "cuda" in self._config.layers:
            for profiler in PROFILERS:
                for module in profiler.modules:
                    self._imports.after_import(module, functools.partial(self._hooks.lend_cupti, hook=profiler))

    def intercept(self) -> None:
        """Records crossings into what has been imported, and what will be."""
        for boundary in self._boundaries:
            self._imports.after_import(boundary.library, functools.partial(self._intercept, boundary))

    def remove(self) -> None:
        """Puts everything back."""
        self.named_operations.remove()
        self._hooks.restore()
        self.single_file_scripts.remove()

    def _follow(self, boundary: Boundary) -> None:
        for name, owner, method in boundary.callbacks:
            self._imports.after_import(name, functools.partial(self._hooks.mark_callback, owner=owner, name=method))
        for name, given, taker in boundary.registered:
            self._imports.after_import(name, functools.partial(self._hooks.mark_registered, name=given, taker=taker))
        for name, *path in boundary.callback_takers:
            self._imports.after_import(name, functools.partial(self._hooks.mark_given_callbacks, path=tuple(path)))
        for maker in boundary.makers:
            intercept_made = functools.partial(self._hooks.intercept_made, maker=maker, category=boundary.category)
            self._imports.after_import(maker.module, intercept_made)
        for loader in boundary.loaders:
            intercept_loaded = functools.partial(
                self._hooks.intercept_loaded, loader=loader, category=boundary.category
            )
            self._imports.after_import(loader.module, intercept_loaded)

    def _intercept(self, boundary: Boundary, module: ModuleType) -> None:
        intercept(boundary)
        for dotted in boundary.indexed:
            indexed = resolve(dotted)
            if isinstance(indexed, type):
                self._intercept_indexing(indexed, dotted, boundary.category)

    def _intercept_indexing(self, base: type, name: str, category: Category) -> None:
        """Each subclass has slots of its own, filled when it is made, from the base's original function."""
        _native.intercept_indexing(base, name, category)
        owners: list[type] = type.__subclasses__(base)
        for owner in owners:
            self._hooks.on_subclasses(owner, lambda cls: _intercept_slots(cls, name, category))


def _intercept_slots(owner: type, name: str, category: Category) -> None:
    _native.intercept_indexing(owner, name, category)
