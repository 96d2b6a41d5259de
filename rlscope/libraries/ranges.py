"""NVTX ranges and record_function blocks, which a program names for other profilers, are operations here.

A range is pushed and popped, not a block of code: it may be popped while an operation is open that began inside it, or
when that around it has ended. So each thread keeps its ranges; one whose end came too early ends as soon as it is the
innermost. Ranges that are started and ended by a handle (`range_start`) belong to no thread, and are left out.
"""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rlscope import _native
from rlscope.record.declared.decorator import scoped
from rlscope.record.declared.hooks import scope_of
from rlscope.record.declared.kinds import WrapperHook

Function = Callable[..., Any]

#: As many names as these are kept: a program may put the number of a step into each.
MOST_NAMES = 1000
OTHER_NAME = "(other ranges)"
#: As many ranges of a thread are followed at once: a program may push without ever popping.
MOST_OPEN = 1000
TORCH_NVTX = "torch.cuda.nvtx"
NVTX = "nvtx.nvtx"
#: Python between the program and the functions that are wrapped here.
BETWEEN = frozenset({"contextlib", TORCH_NVTX})


@dataclass
class _Range:
    """An open range: whose it is, as what and how deep it was opened, and whether its end has come."""

    key: object
    scope: _native.Scope
    depth: int
    is_over: bool = False


class _Ranges(threading.local):
    """The ranges that are open in one thread, innermost last."""

    def __init__(self) -> None:
        self.open: list[_Range] = []

    def begin(self, key: object, name: object) -> None:
        """Open the operation `name`, which `end(key)` will end."""
        self._close()
        if len(self.open) < MOST_OPEN:
            scope = _scope(name)
            self.open.append(_Range(key, scope, _native.begin_range(scope)))

    def end(self, key: object) -> bool:
        """End the innermost range of `key`, and tell whether there was one."""
        ended = next((opened for opened in reversed(self.open) if opened.key == key and not opened.is_over), None)
        if ended is None:
            return False
        ended.is_over = True
        self._close()
        if self.open and any(opened is ended for opened in self.open):
            _native.count_misnested()
        return True

    def _close(self) -> None:
        while self.open and self.open[-1].is_over and _native.end_range(self.open[-1].scope, self.open[-1].depth):
            self.open.pop()


_ranges = _Ranges()
_scopes: dict[str, _native.Scope] = {}


def _scope(name: object) -> _native.Scope:
    text = "" if name is None else str(name)
    found = _scopes.get(text)
    if found is None:
        if not text or len(_scopes) >= MOST_NAMES:
            return _native.operation(OTHER_NAME)
        found = _scopes[text] = scope_of(text)
    return found


def _is_of_program() -> bool:
    """Tell whether the caller of the wrapped function is not PyTorch, which names parts of itself for its profiler."""
    frame = sys._getframe(2)
    module: object = ""
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module not in BETWEEN:
            break
        decorated = frame.f_locals.get("func")
        if decorated is not None:
            module = getattr(decorated, "__module__", None)
            break
        frame = frame.f_back  # type: ignore[assignment]
    return str(module).partition(".")[0] != "torch"


def _entering(enter: Function) -> Function:
    """Wrap record_function.__enter__, and keep the class, by which PyTorch's compiler knows record_function."""

    def entering(self: Any) -> Any:
        result = enter(self)
        if _is_of_program():
            _ranges.begin(self, self.name)
        return result

    return entering


def _exiting(leave: Function) -> Function:
    """Wrap __exit__ of record_function, and of annotate of the package nvtx."""

    def exiting(self: Any, kind: Any = None, error: Any = None, traceback: Any = None) -> Any:
        if _ranges.open:  # PyTorch's optimizers have a block of their own in every step
            _ranges.end(self)
        return leave(self, kind, error, traceback)

    return exiting


def _pushing_for_torch(push: Function) -> Function:
    """Wrap the native function behind torch.cuda.nvtx.range_push."""

    def pushing(message: str) -> Any:
        depth = push(message)
        if _is_of_program():
            _ranges.begin(TORCH_NVTX, message)
        return depth

    return pushing


def _popping_for_torch(pop: Function) -> Function:
    def popping() -> Any:
        if _is_of_program() and not _ranges.end(TORCH_NVTX):
            _native.count_misnested()
        return pop()

    return popping


def _pushing(push: Function) -> Function:
    """Wrap push_range of the package nvtx, which calls no native function where no tool listens."""

    def pushing(
        message: object = None, color: object = "blue", domain: object = None, *args: Any, **kwargs: Any
    ) -> None:
        push(message, color, domain, *args, **kwargs)
        _ranges.begin((NVTX, domain), message)

    return pushing


def _popping(pop: Function) -> Function:
    def popping(domain: object = None) -> None:
        if not _ranges.end((NVTX, domain)):
            _native.count_misnested()
        pop(domain)

    return popping


def _annotating(enter: Function) -> Function:
    """Wrap annotate.__enter__ of the package nvtx."""

    def annotating(self: Any) -> Any:
        result = enter(self)
        _ranges.begin(self, _message(self))
        return result

    return annotating


def _decorating(decorate: Function) -> Function:
    """Wrap annotate.__call__ of the package nvtx."""

    def decorating(self: Any, function: Function) -> Any:
        return scoped(decorate(self, function), _scope(_message(self) or function.__name__))

    return decorating


def _message(annotate: Any) -> object:
    """Return what an annotation was given as its name, in this version of the package or an older one."""
    if hasattr(annotate, "init_args"):
        return annotate.init_args[0]
    message = annotate.attributes.message
    return getattr(message, "string", message)


HOOKS: tuple[WrapperHook, ...] = (
    WrapperHook("torch.autograd.profiler", ("record_function", "__enter__"), _entering),
    WrapperHook("torch.autograd.profiler", ("record_function", "__exit__"), _exiting),
    WrapperHook(TORCH_NVTX, ("_nvtx", "rangePushA"), _pushing_for_torch),
    WrapperHook(TORCH_NVTX, ("_nvtx", "rangePop"), _popping_for_torch),
    WrapperHook(NVTX, ("push_range",), _pushing),
    WrapperHook(NVTX, ("pop_range",), _popping),
    WrapperHook(NVTX, ("annotate", "__enter__"), _annotating),
    WrapperHook(NVTX, ("annotate", "__exit__"), _exiting),
    WrapperHook(NVTX, ("annotate", "__call__"), _decorating),
)
