"""Hooks: Python functions of known libraries that are replaced by ones that run inside operations."""

import functools
import gc
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rlscope import _native
from rlscope._native import Hooked, Inherited
from rlscope.model import STAGES, Category
from rlscope.record.boundary import Loader, Maker, intercept_generated
from rlscope.record.decorator import scoped
from rlscope.record.native_names import resolve
from rlscope.record.replacements import Replacements
from rlscope.record.tracing import noting

Notice = Callable[[Any], None]
#: Flags of code, as `inspect` has them: of generators, coroutines, such made of generators, asynchronous generators.
_IN_STEPS = 0x20 | 0x80 | 0x100 | 0x200


@dataclass(frozen=True)
class FunctionHook:
    """A function as one module knows it (`from x import f` makes a name of its own in each).

    Attributes:
        module: The module in which the name is replaced, after its import.
        name: The function's name there.
        operations: One or two operations, outermost first. A stage that is open already is not opened again.
        is_traced: Whether a library may trace the function, to run what it compiled of it later.
        phase: A phase around the operations; empty for none. The phase that was open goes on afterwards.
    """

    module: str
    name: str
    operations: tuple[str, ...]
    is_traced: bool = False
    phase: str = ""


@dataclass(frozen=True)
class MethodHook:
    """A method of a class and of all its subclasses that have one of their own, later ones too.

    Plain functions are wrapped, also as static and class methods, and where a mixin that is no such class has them.
    Where functions may be traced, so is what was compiled of one.
    What else may stand in their place is left alone: coroutine functions, generators, objects that can be called.

    Attributes:
        module: The module that defines the class.
        owner: The class.
        name: The method.
        operations: As in FunctionHook; none to be told about calls only.
        before: Called with the instance before the outermost call.
        after: Called with the instance after the outermost call has returned.
        is_traced: As in FunctionHook.
        is_default: Whether the operation, only one then, opens only where no stage is open.
        is_named: Whether the user has named the method: then it is wrapped although another hook wraps it as well.
    """

    module: str
    owner: str
    name: str
    operations: tuple[str, ...]
    before: Notice | None = None
    after: Notice | None = None
    is_traced: bool = False
    is_default: bool = False
    is_named: bool = False


@dataclass(frozen=True)
class WrapperHook:
    """A function, or a method of a class, in whose place an integration puts one of its own.

    Attributes:
        module: The module in which it is replaced, after its import.
        path: The function's name, or the class's and the method's.
        wrap: Makes the one from the other.
    """

    module: str
    path: tuple[str, ...]
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class ProfilerHook:
    """Another profiler, which must have CUPTI while it runs: CUPTI serves one at a time.

    Attributes:
        name: The profiler's, for the gap that it leaves in the trace.
        modules: Modules in which the names are replaced, after their import.
        takes: Functions that begin with taking CUPTI.
        returns: Functions after which it is free.
    """

    name: str
    modules: tuple[str, ...]
    takes: tuple[str, ...]
    returns: tuple[str, ...]


def full_name(function: Callable[..., Any]) -> str:
    """The name under which a Python function is recorded."""
    return f"{function.__module__}.{function.__qualname__}"


def as_callback(value: Any) -> Any:
    """A function that counts as Python wherever it is called from; any other value as it is.

    Objects that can be called are left alone: native code may look at their type, as at ctypes' function pointers.
    """
    if type(value) not in (types.FunctionType, types.MethodType):
        return value
    return Hooked(value, (_native.callback(full_name(value)),))


def scope_of(operation: str) -> _native.Scope:
    """The scope of an operation that a hook opens."""
    return _native.joining_stage(operation) if operation in STAGES else _native.operation(operation)


def in_operations(function: Callable[..., Any], hook: FunctionHook | MethodHook, *notices: Any) -> Callable[..., Any]:
    """Wraps `function` so that each call runs inside the hook's operations, and gives the notices that there are."""
    is_default = isinstance(hook, MethodHook) and hook.is_default
    scopes = tuple(map(_native.default_operation if is_default else scope_of, hook.operations))
    if isinstance(hook, FunctionHook) and hook.phase:
        scopes = (_native.phase(hook.phase), *scopes)
    if _runs_in_steps(function):
        return scoped(function, *scopes)
    recorded = Hooked(function, scopes, *notices)
    return noting(function, recorded, hook.operations) if hook.is_traced else recorded


#: Those who are told of subclasses of a class, by the class.
_watchers: dict[type, list[Callable[[type], None]]] = {}


def tell_of_class(cls: type) -> None:
    """After a class was made, or given methods: tells those who watch for subclasses of a class above it."""
    for owner in cls.__mro__[1:]:
        for callback in tuple(_watchers.get(owner, ())):
            callback(cls)


class Hooks(Replacements):
    """What has been replaced in libraries, so that it can be put back."""

    def __init__(self) -> None:
        super().__init__()
        self._watching: list[tuple[type, Callable[[type], None]]] = []
        self._running: dict[MethodHook, set[int]] = {}
        self._made: dict[Callable[..., Any], MethodHook] = {}
        self._holder: ProfilerHook | None = None
        self._registered: list[tuple[Callable[[Any], Any], Any]] = []

    def apply(self, hook: FunctionHook | MethodHook | WrapperHook, module: types.ModuleType) -> None:
        """Puts `hook` in place in an imported module. A name that the library no longer has is left out."""
        if isinstance(hook, FunctionHook):
            function = vars(module).get(hook.name)
            if callable(function):
                self.put(module, hook.name, function, in_operations(function, hook))
            return
        if isinstance(hook, WrapperHook):
            self._wrap(hook, module)
            return
        owner = vars(module).get(hook.owner)
        if isinstance(owner, type):
            self.follow_method(owner, hook)

    def follow_method(self, owner: type, hook: MethodHook) -> None:
        """Puts `hook` in place in a class and its subclasses."""
        self.on_subclasses(owner, functools.partial(self._hook_method, owner=owner, hook=hook))

    def follow_function(self, function: types.FunctionType, hook: FunctionHook) -> None:
        """Puts `hook` in place under every name that a module has for the function."""
        recorded = in_operations(function, hook)
        for module in [module for module in sys.modules.values() if isinstance(module, types.ModuleType)]:
            for name in [name for name, value in vars(module).items() if value is function]:
                self.put(module, name, function, recorded)

    def mark_callback(self, module: types.ModuleType, owner: str, name: str) -> None:
        """Counts what runs inside a method that native code calls, of a class or a subclass, as Python."""
        target = vars(module).get(owner)
        if not isinstance(target, type):
            return

        def mark(cls: type) -> None:
            method = vars(cls).get(name)
            if isinstance(method, types.FunctionType):
                self.put(cls, name, method, Hooked(method, (_native.callback(full_name(method)),)))

        self.on_subclasses(target, mark)

    def mark_registered(self, module: types.ModuleType, name: str, taker: str) -> None:
        """Counts what native code calls because the module gave it to `taker`, when it was imported, as Python."""
        given, take = vars(module).get(name), resolve(taker)
        if given is None or take is None:
            return
        take(type(given)(*map(as_callback, given)) if isinstance(given, tuple) else as_callback(given))
        self._registered.append((take, given))

    def mark_given_callbacks(self, module: types.ModuleType, path: tuple[str, ...]) -> None:
        """Counts what native code calls because it was given to this function, or method of a class, as Python."""
        *owner, name = path
        target = vars(module).get(owner[0]) if owner else module
        function = vars(target).get(name) if target is not None else None
        if not callable(function):
            return
        of_caller = len(owner)  # a method's first argument is its object

        @functools.wraps(function)
        def taking(*args: Any, **kwargs: Any) -> Any:
            given = map(as_callback, args[of_caller:])
            return function(*args[:of_caller], *given, **{key: as_callback(value) for key, value in kwargs.items()})

        self.put(target, name, function, taking)

    def intercept_made(self, module: types.ModuleType, maker: Maker, category: Category) -> None:
        """Counts calls of what a function makes, and has made before, as crossings."""
        make, kind = (vars(module).get(name) for name in (maker.function, maker.type))
        if not callable(make) or not isinstance(kind, type):
            return

        compiling = _native.callback(f"{maker.label}: compiling")

        def making(name: str, function: Any, compile: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            made = make(name, function, Hooked(compile, (compiling,)), *args, **kwargs)
            _native.intercept_compiled(made, f"{maker.label}({name})", category)
            return made

        for known in gc.get_objects():
            if type(known) is kind:
                _native.intercept_compiled(known, f"{maker.label}({getattr(known, '__name__', '?')})", category)
        self.put(module, maker.function, make, functools.wraps(make)(making))

    def intercept_loaded(self, module: types.ModuleType, loader: Loader, category: Category) -> None:
        """Counts calls of what is native in generated modules, also in those that were loaded before, as crossings."""
        load, holder = (vars(module).get(name) for name in (loader.function, loader.loaded[0]))
        if not callable(load):
            return

        def loading(*args: Any, **kwargs: Any) -> Any:
            loaded = load(*args, **kwargs)
            intercept_generated(loaded, loader.label, category)
            return loaded

        for known in getattr(holder, loader.loaded[1], ()):
            intercept_generated(known, loader.label, category)
        self.put(module, loader.function, load, functools.wraps(load)(loading))

    def lend_cupti(self, module: types.ModuleType, hook: ProfilerHook) -> None:
        """Lets another profiler have CUPTI from when it starts until it has stopped."""
        takes, returns = ([name for name in names if name in vars(module)] for names in (hook.takes, hook.returns))
        if takes and returns:  # of a version that has one without the other, it would never come back
            for names, wrap in ((takes, self._taking), (returns, self._returning)):
                for name in names:
                    function = vars(module)[name]
                    original = self.original_of(function)  # the module imported it after it was replaced
                    self.put(module, name, original or function, function if original else wrap(function, hook))

    def on_subclasses(self, owner: type, callback: Callable[[type], None]) -> None:
        """Calls `callback` with `owner`, each of its subclasses and each one that is made later."""
        _watchers.setdefault(owner, []).append(callback)
        self._watching.append((owner, callback))
        _native.watch_subclasses(_watchers, tell_of_class)
        for subclass in [owner, *_all_subclasses(owner)]:
            callback(subclass)

    def restore(self) -> None:
        """Puts everything back, unless somebody else has replaced it since."""
        super().restore()
        for take, given in self._registered:
            take(given)
        self._registered.clear()
        self._made.clear()
        for owner, callback in self._watching:
            _watchers[owner].remove(callback)
            if not _watchers[owner]:
                del _watchers[owner]
        self._watching.clear()
        if not _watchers:
            _native.watch_subclasses(_watchers, None)

    def _taking(self, function: Callable[..., Any], hook: ProfilerHook) -> Callable[..., Any]:
        @functools.wraps(function)
        def taking(*args: Any, **kwargs: Any) -> Any:
            if self._holder is not None:  # one profiler inside another is an error, which is not ours to report
                return function(*args, **kwargs)
            self._holder = hook
            _native.release_cupti(hook.name)
            try:
                return function(*args, **kwargs)
            except BaseException:
                self._take_back(hook)
                raise

        return taking

    def _returning(self, function: Callable[..., Any], hook: ProfilerHook) -> Callable[..., Any]:
        @functools.wraps(function)
        def returning(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            finally:
                self._take_back(hook)

        return returning

    def _take_back(self, hook: ProfilerHook) -> None:
        if self._holder is hook:
            self._holder = None
            _native.reattach_cupti()

    def _wrap(self, hook: WrapperHook, module: types.ModuleType) -> None:
        *owner, name = hook.path
        target = vars(module).get(owner[0]) if owner else module
        function = vars(target).get(name) if target is not None else None
        if callable(function):
            self.put(target, name, function, functools.wraps(function)(hook.wrap(function)))

    def _hook_method(self, cls: type, owner: type, hook: MethodHook) -> None:
        holder = next((base for base in cls.__mro__ if hook.name in vars(base)), None)
        if holder is None:
            return
        method = vars(holder)[hook.name]
        wrapper = self._wrapper(hook, method)
        if wrapper is method:
            return
        if holder is cls:
            self.put(cls, hook.name, method, wrapper)
        elif not isinstance(method, staticmethod | classmethod) and (cls is owner or owner not in holder.__mro__):
            inherited = Inherited(cls, hook.name, functools.partial(self._wrapper, hook))
            self.put(cls, hook.name, None, inherited)  # of nn.Module, say, or a mixin, where nothing is hooked

    def _wrapper(self, hook: MethodHook, method: Any) -> Any:
        """What stands in the place of a method; the method itself where that is to be left alone."""
        if type(method) in (staticmethod, classmethod):
            wrapper = self._wrapper(hook, method.__func__)
            return method if wrapper is method.__func__ else type(method)(wrapper)
        is_plain = type(method) in (types.FunctionType, Hooked)
        is_compiled = hook.is_traced and hasattr(type(method), "__get__")  # by jax.jit: it binds as functions do
        if not (is_plain or is_compiled) or (_runs_in_steps(method) and not hook.is_named):
            return method
        made = self._made.get(method)
        if made is hook or (made is not None and not made.is_named and not hook.is_named):
            return method
        has_notices = hook.before is not None or hook.after is not None
        notices = (hook.before, hook.after, self._running.setdefault(hook, set())) if has_notices else ()
        wrapper = in_operations(method, hook, *notices)
        self._made[wrapper] = hook
        return wrapper


def _runs_in_steps(function: Any) -> bool:
    """Whether it is the function of a coroutine or generator, which runs after the call has returned."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return isinstance(flags, int) and bool(flags & _IN_STEPS)


def _all_subclasses(owner: type) -> list[type]:
    found: list[type] = []
    subclasses: list[type] = type.__subclasses__(owner)
    for subclass in subclasses:
        found += [subclass, *_all_subclasses(subclass)]
    return found
