"""Libraries trace Python once and run the compiled result, so hooks see the tracing only.

While a function is traced, hooks on the Python that it consists of open nothing, because that is not when its work is
done; they note what they would have opened, and each later call of the compiled function is that.
"""

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

from rlscope.model import STAGES
from rlscope.record.declared.originals import wraps

Operations = tuple[str, ...]


class _Thread(threading.local):
    """The operations that were met in each function that one thread is tracing, innermost last."""

    def __init__(self) -> None:
        self.met: list[set[Operations]] = []
        self.is_inside = False


_thread = _Thread()
#: Whether PyTorch compiles: torch.compiler.is_compiling once it is imported, by which the compiler knows the answer.
is_compiling: Callable[[], bool] = bool


#: Of functions that `noting` has made.
_noted: weakref.WeakKeyDictionary[FunctionType, Operations] = weakref.WeakKeyDictionary()


def know_compiler(torch: ModuleType) -> None:
    """Let `is_compiling` be PyTorch's own, once PyTorch is imported."""
    global is_compiling
    is_compiling = torch.compiler.is_compiling


def is_tracing() -> bool:
    """Tell whether this thread traces a function."""
    return bool(_thread.met)


@contextlib.contextmanager
def tracing() -> Iterator[set[Operations]]:
    """Traces a function: gives the operations of the outermost hooks that are met."""
    met: set[Operations] = set()
    was_inside, _thread.is_inside = _thread.is_inside, False
    _thread.met.append(met)
    try:
        yield met
    finally:
        _thread.met.pop()
        _thread.is_inside = was_inside
        meet(met)


def meet(operations: set[Operations]) -> None:
    """Note operations in the function that is being traced, if there is one."""
    if _thread.met and not _thread.is_inside:
        _thread.met[-1] |= operations


def noting(original: Callable[..., Any], recorded: Callable[..., Any], operations: Operations) -> Callable[..., Any]:
    """Stands for `recorded`, and, while a function is traced, for `original` with a note of its operations.

    PyTorch's compiler reads it as `original`: it stays one graph.
    """

    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(*args, **kwargs)
        if not _thread.met:
            return recorded(*args, **kwargs)
        meet({operations})
        was_inside, _thread.is_inside = _thread.is_inside, True
        try:
            return original(*args, **kwargs)
        finally:
            _thread.is_inside = was_inside

    _noted[call] = operations  # type: ignore[index]
    return call


def noted_operations(function: object) -> Operations:
    """Return the operations of a function, or bound method, that `noting` has made; any other has none."""
    called = function.__func__ if isinstance(function, MethodType) else function
    return _noted.get(called, ()) if isinstance(called, FunctionType) else ()


def stages_of(met: set[Operations]) -> list[str]:
    """Return the stages among what was met."""
    return [stage for stage in STAGES if any(operations[0] == stage for operations in met)]


def operations_of(met: set[Operations]) -> Operations:
    """Return what a compiled function is: the operations that were met in it; of several in one stage, the stage.

    Several stages make one operation that names them all: nobody can say then how the time is divided between them.
    """
    staged = {operations for operations in met if operations[0] in STAGES} or met
    if len(staged) == 1:
        return next(iter(staged))
    stages = stages_of(met)
    return ("+".join(stages),) if stages else ()
