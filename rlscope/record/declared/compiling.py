"""Compiling is an operation, and the trace says how much of it was of functions that had been compiled before."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator

from rlscope import _native
from rlscope.model import COMPILE, COMPILING

_OPERATION = _native.operation(COMPILE)


class _Thread(threading.local):
    """Each thread knows whether it compiles."""

    is_compiling = False


_thread = _Thread()
#: Nanoseconds of compiling in this process, and those of them that were for functions that had been compiled before.
_took = {"ns": 0, "again_ns": 0}


@contextlib.contextmanager
def compiling(is_again: bool) -> Iterator[None]:
    """Compile a function in the operation `compile`; what is compiled meanwhile is for it.

    Args:
        is_again: Whether the function was compiled before, for other shapes, say.
    """
    if _thread.is_compiling:
        with _OPERATION:
            yield
        return
    _thread.is_compiling = True
    began_ns = time.monotonic_ns()
    try:
        with _OPERATION:
            yield
    finally:
        _thread.is_compiling = False
        took_ns = time.monotonic_ns() - began_ns
        _took["ns"] += took_ns
        _took["again_ns"] += took_ns if is_again else 0
        if _native.is_recording():
            _native.write_properties(json.dumps({COMPILING: _took}))
