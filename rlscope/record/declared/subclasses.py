"""Watches for subclasses: those of a class that there are, and those that are made later."""

import functools
from collections.abc import Callable

from rlscope import _native
from rlscope.record.replacements import Replacements

#: Those who are told of subclasses of a class, by the class.
_watchers: dict[type, list[Callable[[type], None]]] = {}


def tell_of_class(cls: type) -> None:
    """Tell of a class that was made, or given methods, those who watch for subclasses of a class above it."""
    for owner in cls.__mro__[1:]:
        for callback in tuple(_watchers.get(owner, ())):
            callback(cls)


def on_subclasses(owner: type, callback: Callable[[type], None], replacements: Replacements) -> None:
    """Call `callback` with `owner`, each of its subclasses and each made later, until `replacements` are restored."""
    _watchers.setdefault(owner, []).append(callback)
    replacements.on_restore(functools.partial(_forget, owner, callback))
    _native.watch_subclasses(_watchers, tell_of_class)
    for subclass in [owner, *_all_subclasses(owner)]:
        callback(subclass)


def _forget(owner: type, callback: Callable[[type], None]) -> None:
    _watchers[owner].remove(callback)
    if not _watchers[owner]:
        del _watchers[owner]
    if not _watchers:
        _native.watch_subclasses(_watchers, None)


def _all_subclasses(owner: type) -> list[type]:
    found: list[type] = []
    subclasses: list[type] = type.__subclasses__(owner)
    for subclass in subclasses:
        found += [subclass, *_all_subclasses(subclass)]
    return found
