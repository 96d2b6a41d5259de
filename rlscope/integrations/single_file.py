"""Scripts that train with PyTorch and no library: what a network is called for shows in what follows the call.

A call that is followed by a step of the environment was inference, one that is followed by a step of the optimizer was
backpropagation. So the first time that a place in the program calls a network, the call alone counts as inference;
from then on the stage that this place turned out to be in opens there, and lasts until the step that ends it. Whether
gradients are on says less: many scripts leave them on while they act, and off while they compute targets.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from rlscope import _native
from rlscope.record.hooks import Hooks

INFERENCE = _native.guessed_stage("inference")
BACKPROPAGATION = _native.guessed_stage("backpropagation")


class SingleFileScripts:
    """Opens inference and backpropagation around what a script does between its steps."""

    def __init__(self) -> None:
        self._hooks = Hooks()
        self._handles: list[Any] = []
        self._is_compiling: Callable[[], bool] = bool

    def install(self, torch: ModuleType) -> None:
        """Follows calls of networks and, of optimizers, `zero_grad` and `step`; never `forward`: compilers read it."""
        self._is_compiling = torch.compiler.is_compiling
        _native.follow_networks(torch.nn.Module.__call__, INFERENCE)
        # The compiler leaves zero_grad alone; so it must leave alone what stands in its place. Once: that costs 5 us.
        self._hooks.replace(
            torch.optim.Optimizer,
            "zero_grad",
            lambda method: torch._disable_dynamo(_following_zero_grad(inspect.unwrap(method))),
        )
        optimizer = sys.modules["torch.optim.optimizer"]  # torch.optim itself has no such attribute
        self._handles = [
            optimizer.register_optimizer_step_pre_hook(self._before_optimizer_step),
            optimizer.register_optimizer_step_post_hook(self._after_optimizer_step),
        ]

    def remove(self) -> None:
        """Puts everything back."""
        _native.unfollow_networks()
        self._hooks.restore()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _before_optimizer_step(self, *_: Any) -> None:
        if not self._is_compiling():
            BACKPROPAGATION.__enter__()

    def _after_optimizer_step(self, *_: Any) -> None:
        if self._is_compiling():
            return
        _native.decide_stage(BACKPROPAGATION)
        BACKPROPAGATION.__exit__(None, None, None)


def _following_zero_grad(original: Callable[..., Any]) -> Callable[..., Any]:
    stage_of_caller = _native.stage_of_caller

    @functools.wraps(original)
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Some scripts call it after the optimizer's step: then a step of the environment may come next.
        if stage_of_caller() is BACKPROPAGATION:
            BACKPROPAGATION.__enter__()
        return original(self, *args, **kwargs)

    return zero_grad
