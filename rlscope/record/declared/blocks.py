"""Timers: what a program calls to time a part of itself under a name, as in `with timer.time("generation"):`.

The name is the first string among the arguments of the call. What the call returns is a context manager, or a
decorator; or what is called is a class, and its object is the context manager.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from rlscope import _native
from rlscope.record.declared import tracing
from rlscope.record.declared.decorator import scoped
from rlscope.record.declared.originals import in_place_of, wraps
from rlscope.record.declared.subclasses import on_subclasses
from rlscope.record.replacements import Replacements

Function = Callable[..., Any]
Scopes = tuple[_native.Scope, ...]
#: Told, of each timer of a name that is followed, what the call returned.
Notice = Callable[[Any], None]


class Block:
    """Stands for a context manager or decorator: while its block runs, the scopes are open. Else it is like it."""

    __slots__ = ("_block", "_scopes")
    _block: Any
    _scopes: Scopes

    def __init__(self, block: Any, scopes: Scopes) -> None:
        object.__setattr__(self, "_block", block)
        object.__setattr__(self, "_scopes", scopes)

    @property  # type: ignore[misc]  # isinstance() asks for it
    def __class__(self) -> type:
        return type(self._block)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._block, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._block, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 (it is the other's)
        return _decorated(self._block(*args, **kwargs), self._scopes)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._block.__reduce_ex__(protocol)

    def __enter__(self) -> Any:
        entered = type(self._block).__enter__(self._block)
        _enter(self._scopes)
        return entered

    def __exit__(self, *error: Any) -> Any:
        _exit(self._scopes)
        return type(self._block).__exit__(self._block, *error)

    def __aenter__(self) -> Any:
        entered = type(self._block).__aenter__(self._block)
        _enter(self._scopes)
        return entered

    def __aexit__(self, *error: Any) -> Any:
        _exit(self._scopes)
        return type(self._block).__aexit__(self._block, *error)


def follow_timer(
    timer: Any,
    owner: type | None,
    name: str,
    scopes: Mapping[str, Scopes],
    replacements: Replacements,
    notice: Notice | None = None,
) -> None:
    """Open the scopes of a name inside the blocks that are timed under it.

    Args:
        timer: A function, a method, or a class whose objects are context managers.
        owner: The class whose method it is, None if it is none.
        name: What the method is called there.
        scopes: What is opened, by the name that the timer is given.
        replacements: Where everything is put back from.
        notice: Told of what such a call returned.
    """
    wrap = functools.partial(_timed, scopes=scopes, notice=notice)
    if isinstance(timer, type):
        _follow_class(timer, scopes, replacements, notice)
    elif owner is not None:
        follow_method(owner, name, wrap, replacements)
    else:
        replacements.put_everywhere(timer, wrap(timer))


def can_be_timed(made: Any) -> bool:
    """Tell whether what a timer has returned can be followed: a context manager, or a decorator."""
    return callable(made) or any(hasattr(type(made), name) for name in ("__enter__", "__aenter__"))


def _timed(function: Function, scopes: Mapping[str, Scopes], notice: Notice | None) -> Function:
    @wraps(function)
    def timing(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        of_name = None if tracing.is_compiling() else scopes.get(_name_in(args, kwargs))
        if of_name is None:
            return made
        if notice is not None:
            notice(made)
        if isinstance(made, FunctionType):
            return wraps(made)(lambda *args, **kwargs: _decorated(made(*args, **kwargs), of_name))
        return Block(made, of_name) if can_be_timed(made) else made

    return timing


def _follow_class(owner: type, scopes: Mapping[str, Scopes], replacements: Replacements, notice: Notice | None) -> None:
    named: dict[int, Scopes] = {}  # by the object's id; one that is made later in its place takes it, or clears it

    def naming(make: Function) -> Function:
        @wraps(make)
        def making(self: Any, *args: Any, **kwargs: Any) -> None:
            make(self, *args, **kwargs)
            of_name = scopes.get(_name_in(args, kwargs))
            if of_name is None:
                named.pop(id(self), None)
                return
            named[id(self)] = of_name
            if notice is not None:
                notice(self)

        return making

    def entered(timer: Any) -> None:
        _enter(named.get(id(timer), ()))

    def exiting(timer: Any) -> None:
        _exit(named.get(id(timer), ()))

    follow_method(owner, "__init__", naming, replacements)
    for name in ("__enter__", "__aenter__"):
        follow_method(owner, name, functools.partial(_notified, after=entered), replacements)
    for name in ("__exit__", "__aexit__"):
        follow_method(owner, name, functools.partial(_notified, before=exiting), replacements)


def follow_method(owner: type, name: str, wrap: Callable[[Function], Function], replacements: Replacements) -> None:
    """Put `wrap(method)` in the place of a method of the class, and of those with which subclasses replace it."""

    def follow(cls: type) -> None:
        method = inspect.getattr_static(cls, name, None) if cls is owner else vars(cls).get(name)
        wrapper: Any = None
        if isinstance(method, staticmethod | classmethod):
            wrapper = type(method)(wrap(method.__func__))
        elif isinstance(method, FunctionType):
            wrapper = wrap(method)
        if wrapper is not None:
            replacements.put(cls, name, vars(cls).get(name), wrapper)

    on_subclasses(owner, follow, replacements)


def _notified(function: Function, before: Notice | None = None, after: Notice | None = None) -> Function:
    return _native.Hooked(function, (), before, after, set())


def _name_in(args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the first string among the arguments of a call, "" if there is none."""
    return next((value for value in (*args, *kwargs.values()) if isinstance(value, str)), "")


def _decorated(function: Any, scopes: Scopes) -> Any:
    return in_place_of(function, scoped(function, *scopes)) if callable(function) else function


def _enter(scopes: Scopes) -> None:
    for scope in scopes:
        _native.enter_for_caller(scope, 2)


def _exit(scopes: Scopes) -> None:
    for scope in reversed(scopes):
        scope.__exit__(None, None, None)
