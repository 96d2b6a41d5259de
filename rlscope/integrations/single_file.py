"""Scripts that train with PyTorch and no library: what a network is called for shows in what follows the call.

A call that is followed by a step of the environment was inference, one that is followed by a step of the optimizer was
backpropagation. So the first time that a place in the program calls a network, the call alone counts as inference;
from then on the stage that this place turned out to be in opens there, and lasts until the step that ends it. Whether
gradients are on says less: many scripts leave them on while they act, and off while they compute targets.
"""

import functools
import sys
import threading
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from rlscope import _native
from rlscope.record.hooks import Hooks

INFERENCE = _native.guessed_stage("inference")
BACKPROPAGATION = _native.guessed_stage("backpropagation")

#: How many callers tell a place from others: a method of the agent serves both purposes, its callers do not.
CALLERS = 4

Place = tuple[int, ...]


class _Thread(threading.local):
    """What one thread has called since the last step of the environment or the optimizer."""

    def __init__(self) -> None:
        self.is_inside = False
        self.pending: set[Place] = set()
        self.simulations = 0


class SingleFileScripts:
    """Opens inference and backpropagation around what a script does between its steps."""

    def __init__(self) -> None:
        self._hooks = Hooks()
        self._handles: list[Any] = []
        self._thread = _Thread()
        self._stages: dict[Place, _native.Scope] = {}
        self._is_compiling: Callable[[], bool] = bool

    def install(self, torch: ModuleType) -> None:
        """Follows calls of networks and, of optimizers, `zero_grad` and `step`; never `forward`: compilers read it."""
        self._is_compiling = torch.compiler.is_compiling
        self._hooks.replace(torch.nn.Module, "__call__", self._following_calls)
        # The compiler leaves zero_grad alone; so it must leave alone what stands in its place.
        self._hooks.replace(
            torch.optim.Optimizer, "zero_grad", lambda method: torch._disable_dynamo(self._following_zero_grad(method))
        )
        optimizer = sys.modules["torch.optim.optimizer"]  # torch.optim itself has no such attribute
        self._handles = [
            optimizer.register_optimizer_step_pre_hook(self._before_optimizer_step),
            optimizer.register_optimizer_step_post_hook(self._after_optimizer_step),
        ]

    def remove(self) -> None:
        """Puts everything back."""
        self._hooks.restore()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _following_calls(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling, stage_at, thread = self._is_compiling, self._stage_at, self._thread

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or thread.is_inside:
                return original(self, *args, **kwargs)
            thread.is_inside = True
            try:
                stage = stage_at(sys._getframe(1))
                if stage is not None:
                    stage.__enter__()
                    return original(self, *args, **kwargs)
                with INFERENCE:
                    return original(self, *args, **kwargs)
            finally:
                thread.is_inside = False

        return _looking_like(original, call)

    def _following_zero_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        stage_at = self._stage_at

        @functools.wraps(original)
        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
            # Some scripts call it after the optimizer's step: then a step of the environment may come next.
            if stage_at(sys._getframe(1)) is BACKPROPAGATION:
                BACKPROPAGATION.__enter__()
            return original(self, *args, **kwargs)

        return zero_grad

    def _stage_at(self, frame: FrameType) -> _native.Scope | None:
        """The stage that this place was in the last time, None the first time."""
        place = _place(frame)
        thread = self._thread
        self._settle(thread)
        thread.pending.add(place)
        return self._stages.get(place)

    def _settle(self, thread: _Thread) -> None:
        """If the environment has stepped since, what was called before it was inference."""
        simulations = _native.simulations()
        if simulations != thread.simulations:
            thread.simulations = simulations
            self._decide(thread, INFERENCE)

    def _decide(self, thread: _Thread, stage: _native.Scope) -> None:
        for place in thread.pending:
            self._stages[place] = stage
        thread.pending.clear()

    def _before_optimizer_step(self, *_: Any) -> None:
        if not self._is_compiling():
            BACKPROPAGATION.__enter__()

    def _after_optimizer_step(self, *_: Any) -> None:
        if self._is_compiling():
            return
        thread = self._thread
        self._settle(thread)
        self._decide(thread, BACKPROPAGATION)
        BACKPROPAGATION.__exit__(None, None, None)


def _looking_like(original: Any, wrapper: Any) -> Callable[..., Any]:
    """Compilers decide by file and name what they look into: with the wrapper as with the original."""
    known = original.__code__
    wrapper.__code__ = wrapper.__code__.replace(
        co_filename=known.co_filename, co_name=known.co_name, co_firstlineno=known.co_firstlineno
    )
    wrapped: Callable[..., Any] = functools.wraps(original)(wrapper)
    return wrapped


def _place(frame: FrameType | None) -> Place:
    place: list[int] = []
    while frame is not None and len(place) < 2 * CALLERS:
        place += (id(frame.f_code), frame.f_lasti)
        frame = frame.f_back
    return tuple(place)
