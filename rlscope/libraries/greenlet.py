"""greenlet, also behind gevent: which greenlet runs on a thread, so that each has its own open operations.

A thread tells one function of its switches. What the program sets in its place is called as well.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any

from rlscope import _native
from rlscope.record.declared.kinds import Hook, WrapperHook

Tracer = Callable[[str, tuple[Any, Any]], object]


class _Thread(threading.local):
    """The function that the program has set, and what was set in its place."""

    tracer: Tracer | None = None
    set: Tracer | None = None


_thread = _Thread()


def _telling(tracer: Tracer | None) -> Tracer:
    """Return what is told of switches where the program has set `tracer`."""
    if tracer is None:
        return _native.greenlet_switched

    def switched(event: str, greenlets: tuple[Any, Any]) -> None:
        _native.greenlet_switched(event, greenlets)
        tracer(event, greenlets)

    return switched


def _setting(settrace: Callable[[Tracer | None], Tracer | None]) -> Callable[..., Any]:
    """Wrap the function with which a program sets its own; on this thread it may have done so already."""

    def setting(tracer: Tracer | None) -> Tracer | None:
        before, _thread.tracer = _thread.tracer, tracer
        _thread.set = _telling(tracer)
        settrace(_thread.set)
        return before

    before = settrace(None)
    setting(_thread.tracer if before is _thread.set else before)
    return setting


def _getting(_: Callable[[], Tracer | None]) -> Callable[[], Tracer | None]:
    return lambda: _thread.tracer


def _beginning(make: Callable[..., None]) -> Callable[..., None]:
    """Wrap what makes gevent's hub, on each thread that uses it."""

    def making(hub: Any, *args: Any, **kwargs: Any) -> None:
        sys.modules["greenlet"].settrace(_thread.tracer)
        make(hub, *args, **kwargs)

    return making


HOOKS: tuple[Hook, ...] = (
    WrapperHook("greenlet", ("settrace",), _setting),
    WrapperHook("greenlet", ("gettrace",), _getting),
    WrapperHook("gevent.hub", ("Hub", "__init__"), _beginning),
)
