"""Executes every field of a declaration, in the order in which `kinds.py` has them."""

import functools
from collections.abc import Callable, Collection, Iterator
from typing import Any

from rlscope import _native
from rlscope.model import Category
from rlscope.record.declared.callbacks import as_callback, mark_callback, mark_given_callbacks, mark_registered
from rlscope.record.declared.code_lifetime import CodeLifetime
from rlscope.record.declared.containers import intercept_container, is_native
from rlscope.record.declared.cupti_lending import CuptiLending
from rlscope.record.declared.function_names import FunctionNames
from rlscope.record.declared.hooks import Hooks
from rlscope.record.declared.kinds import Boundary, HookInModule, ProfilerHook
from rlscope.record.declared.subclasses import on_subclasses
from rlscope.record.import_hooks import ImportHooks
from rlscope.record.native_names import intercept_named, resolve, unwrapped


class Declarations:
    """The declarations of libraries' files that have been put in place, so that they can be taken back.

    Args:
        imports: Tells of imports.
        packages: All packages that files of libraries are about.
    """

    def __init__(self, imports: ImportHooks, packages: Collection[str]) -> None:
        self._imports = imports
        self._naming = FunctionNames(packages)
        self.hooks = Hooks()
        self._lending = CuptiLending(self.hooks)
        self._lifetime = CodeLifetime(self.hooks)

    def intercept(self, boundary: Boundary) -> None:
        """Execute the first half of the fields, by which crossings are recorded, once the library is imported."""
        self._imports.after_import(boundary.library, lambda _: self._intercept(boundary))

    def prepare(self, boundary: Boundary) -> None:
        """Execute the second half of the fields, which must be in place before the program uses the library.

        Callbacks are given, and functions compiled, while libraries are imported: also before a delayed recording.
        """
        for wrapper in boundary.wrappers:
            self.hook(wrapper)
        for module, owner, method in boundary.callbacks:
            self._after_import(module, mark_callback, owner, method)
        for module, given, taker in boundary.registered:
            self._after_import(module, mark_registered, given, taker)
        for module, *path in boundary.callback_takers:
            self._after_import(module, mark_given_callbacks, tuple(path))

    def hook(self, hook: HookInModule) -> None:
        """Execute a hook once its module is imported."""
        self._imports.after_import(hook.module, functools.partial(self.hooks.apply, hook))

    def make_way(self, profiler: ProfilerHook, has_cupti: bool) -> None:
        """Let another profiler run as it would alone once its modules are imported: with CUPTI, where we have that."""
        for module in profiler.modules:
            if has_cupti:
                self._imports.after_import(module, functools.partial(self._lending.lend, hook=profiler))
            self._imports.after_import(module, functools.partial(self._lifetime.follow, hook=profiler))

    def _after_import(self, module: str, execute: Callable[..., None], *arguments: Any) -> None:
        self._imports.after_import(module, functools.partial(execute, self.hooks, *arguments))

    def _intercept(self, boundary: Boundary) -> None:
        category = boundary.category
        for dotted in boundary.containers:
            container = resolve(dotted)
            if container is not None:
                intercept_container(dotted, container, category, boundary.not_crossings)
        intercept_named(boundary.functions, category)
        for dotted, owner in _types(boundary.indexed):  # each subclass has slots of its own, filled when it is made
            intercept_slots = functools.partial(_intercept_indexing, dotted, category)
            on_subclasses(owner, intercept_slots, self.hooks)
        for dotted in boundary.inherited:
            for _, owner in _types((dotted.rpartition(".")[0],)):
                intercept_method = functools.partial(_intercept_inherited, dotted.rpartition(".")[2], category)
                on_subclasses(owner, intercept_method, self.hooks)
        for dotted, owner in _types(boundary.buffers):
            _native.intercept_buffers(owner, f"{dotted}.__buffer__", category)
        for dotted, owner in _types(boundary.launched):
            _native.follow_launched(owner, f"{dotted}.__buffer__", category, boundary.held)
        for dotted in boundary.awaiting:
            if (function := resolve(dotted)) is not None:
                _native.intercept_awaiting(function, dotted, category)
        for dotted, owner in _types(boundary.constructed):
            _native.intercept_construction(owner, f"{dotted}.__init__", category)
        for dotted, told in boundary.function_objects:
            for _, owner in _types((dotted,)):
                _native.intercept_function_objects(owner, told, category, self._naming.name_of, as_callback)


def _types(names: tuple[str, ...]) -> Iterator[tuple[str, type]]:
    """Yield the types among what these dotted names stand for."""
    for dotted in names:
        found = resolve(dotted)
        if isinstance(found, type):
            yield dotted, found


def _intercept_inherited(name: str, category: Category, cls: type) -> None:
    """Intercept the method `name` that a class has from native code; Python's own are none."""
    for base in cls.__mro__:
        if name in vars(base):
            function = unwrapped(vars(base)[name])
            if is_native(function):
                _native.intercept(function, f"{base.__module__}.{base.__qualname__}.{name}", category)
            return


def _intercept_indexing(name: str, category: int, owner: type) -> None:
    _native.intercept_indexing(owner, name, category)
