"""Hooks: Python functions of known libraries that are replaced by ones that run inside operations."""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from rlscope import _native
from rlscope._native import Hooked, Inherited
from rlscope.model import STAGES
from rlscope.record.declared.blocks import follow_timer
from rlscope.record.declared.decorator import scoped
from rlscope.record.declared.kinds import FunctionHook, Held, HookInModule, MethodHook, Notice, TimerHook, WrapperHook
from rlscope.record.declared.originals import in_place_of
from rlscope.record.declared.subclasses import on_subclasses
from rlscope.record.declared.tracing import noting
from rlscope.record.replacements import Replacements

#: Flags of code, as `inspect` has them: of generators, coroutines, such made of generators, asynchronous generators.
_IN_STEPS = 0x20 | 0x80 | 0x100 | 0x200


def scope_of(operation: str) -> _native.Scope:
    """Return the scope of an operation that a hook opens."""
    return _native.joining_stage(operation) if operation in STAGES else _native.operation(operation)


def in_operations(function: Callable[..., Any], hook: FunctionHook | MethodHook, *notices: Any) -> Callable[..., Any]:
    """Wrap `function` so that each call runs inside the hook's operations and gives the notices that there are."""
    is_default = isinstance(hook, MethodHook) and hook.is_default
    outer, inner = hook.operations[:1], hook.operations[1:]
    scopes = (*map(_native.default_operation if is_default else scope_of, outer), *map(scope_of, inner))
    if hook.phase:
        scopes = (_native.phase(hook.phase), *scopes)
    if _runs_in_steps(function):
        return in_place_of(function, scoped(function, *scopes))
    recorded = in_place_of(function, Hooked(function, scopes, *notices))
    return noting(function, recorded, hook.operations) if hook.is_traced else recorded


def timer_scopes(hook: TimerHook) -> dict[str, tuple[_native.Scope, ...]]:
    """Return what a timer's hook opens, by the name that the timer is given."""
    first = _native.default_operation if hook.is_default else scope_of
    return {
        name: (first(outermost), *map(_native.operation, inner))
        for name, (outermost, *inner) in hook.operations.items()
    }


class Hooks(Replacements):
    """The functions that have been replaced in libraries, so that they can be put back."""

    def __init__(self) -> None:
        super().__init__()
        self._running: dict[MethodHook, set[int]] = {}
        self._made: dict[Callable[..., Any], MethodHook] = {}
        self._of_functions: dict[Callable[..., Any], FunctionHook] = {}

    def apply(self, hook: HookInModule, module: types.ModuleType) -> None:
        """Put `hook` in place in an imported module. A name that the library no longer has is left out."""
        if isinstance(hook, WrapperHook):
            self.wrap(module, hook.path, hook.wrap)
        elif isinstance(hook, TimerHook):
            self._follow_timer(hook, module)
        elif isinstance(hook, FunctionHook):
            self._hook_function(module, hook)
        elif isinstance(owner := vars(module).get(hook.owner), type):
            self.follow_method(owner, hook)

    def wrap(self, module: types.ModuleType, path: tuple[str, ...], wrap: Callable[[Any], Callable[..., Any]]) -> None:
        """Put `wrap(function)`, which then looks like it, in the place of a function, or of what an object holds."""
        *owners, name = path
        target = vars(module).get(owners[0]) if owners else module
        for owner in owners[1:]:
            target = getattr(target, owner, None)
        function = vars(target).get(name) if target is not None else None
        if callable(function):
            self.put(target, name, function, functools.update_wrapper(wrap(function), function))

    def follow_method(self, owner: type, hook: MethodHook) -> None:
        """Put `hook` in place in a class and its subclasses."""
        on_subclasses(owner, functools.partial(self._hook_method, owner=owner, hook=hook), self)

    def follow_function(self, function: types.FunctionType, hook: FunctionHook) -> None:
        """Put `hook` in place under every name that a module has for the function."""
        self.put_everywhere(function, in_operations(function, hook))

    def restore(self) -> None:
        """Put everything back, unless somebody else has replaced it since."""
        super().restore()
        self._made.clear()
        self._of_functions.clear()

    def _hook_function(self, module: types.ModuleType, hook: FunctionHook) -> None:
        function = vars(module).get(hook.name)
        if not callable(function):
            return
        # A module that imports it from another one may have got what opens the same operations already.
        made = self._of_functions.get(function) if type(function) is Hooked else None
        if made is not None and (made.operations, made.phase) == (hook.operations, hook.phase):
            return
        wrapper = in_operations(function, hook)
        self._of_functions[wrapper] = hook
        self.put(module, hook.name, function, wrapper)

    def _follow_timer(self, hook: TimerHook, module: types.ModuleType) -> None:
        found = vars(module).get(hook.path[0])
        owner = found if len(hook.path) > 1 and isinstance(found, type) else None
        timer = found if owner is None else inspect.getattr_static(owner, hook.path[-1], None)
        if isinstance(timer, type | types.FunctionType | staticmethod | classmethod):
            follow_timer(timer, owner, hook.path[-1], timer_scopes(hook), self)

    def _hook_method(self, cls: type, owner: type, hook: MethodHook) -> None:
        holder = next((base for base in cls.__mro__ if hook.name in _native.names_of(base)), None)
        if holder is None:
            return
        method = _native.names_of(holder)[hook.name]
        wrapper = self._wrapper(hook, method)
        if wrapper is method:
            return
        if holder is cls:
            self.put(cls, hook.name, method, wrapper)
        elif not isinstance(method, staticmethod | classmethod) and (cls is owner or owner not in holder.__mro__):
            inherited = Inherited(cls, hook.name, functools.partial(self._wrapper, hook))
            self.put(cls, hook.name, None, inherited)  # of nn.Module, say, or a mixin, where nothing is hooked

    def _wrapper(self, hook: MethodHook, method: Any) -> Any:
        """Return what stands in the place of a method; the method itself where that is to be left alone."""
        if type(method) in (staticmethod, classmethod):
            wrapper = self._wrapper(hook, method.__func__)
            return method if wrapper is method.__func__ else type(method)(wrapper)
        is_plain = type(method) in (types.FunctionType, Hooked)
        is_compiled = hook.is_traced and hasattr(type(method), "__get__")  # by jax.jit: it binds as functions do
        is_left = _runs_in_steps(method) and not (hook.is_named or hook.is_in_steps)
        if not (is_plain or is_compiled) or is_left:
            return method
        made = self._made.get(method)
        if made is hook or (made is not None and not made.is_named and not hook.is_named):
            return method
        before = self._following(hook.held, hook.before) if hook.held else hook.before
        has_notices = before is not None or hook.after is not None
        notices = (before, hook.after, self._running.setdefault(hook, set())) if has_notices else ()
        wrapper = in_operations(method, hook, *notices)
        if hook.steps and type(wrapper) is Hooked:
            _native.count_steps(wrapper, hook.steps == "num_envs")
        self._made[wrapper] = hook
        return wrapper

    def _following(self, held: Held, before: Notice | None) -> Notice:
        """Return the notice that hooks the class of what an instance holds, when it is met first."""
        seen: set[type] = set()

        def follow(holder: Any) -> None:
            cls = type(getattr(holder, held.attribute, None))
            if cls not in seen:
                seen.add(cls)
                for name, operations in held.methods:
                    self.follow_method(cls, MethodHook(cls.__module__, cls.__qualname__, name, operations))
            if before is not None:
                before(holder)

        return follow


def _runs_in_steps(function: Any) -> bool:
    """Tell whether it is the function of a coroutine or generator, which runs after the call has returned."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return isinstance(flags, int) and bool(flags & _IN_STEPS)
