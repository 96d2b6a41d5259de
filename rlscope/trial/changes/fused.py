"""Let optimizers update all parameters in one call."""

import sys
from types import ModuleType
from typing import Any

from rlscope.trial.change import Function, Making

ALTERS = "the last bits of parameters"
IS_OF_WALL = False
_OPTIMIZERS = ("Adagrad", "Adam", "AdamW", "SGD")


def prepare(making: Making) -> None:
    """Give fused=True to optimizers that are told neither this nor foreach=True."""

    def of_torch(module: ModuleType) -> None:
        for name in _OPTIMIZERS:
            making.replace(getattr(module, name), "__init__", fused)

    def fused(init: Function) -> Function:
        def made(self: Any, *args: Any, **kwargs: Any) -> None:
            if kwargs.get("fused") is None and not kwargs.get("foreach") and not kwargs.get("differentiable"):
                making.met(type(self).__name__, _keep(type(self).__name__))
                if making.is_on:
                    kwargs["fused"] = True
            init(self, *args, **kwargs)

        return made

    making.after_import("torch.optim", of_torch)


def _keep(name: str) -> str:
    if "stable_baselines3" in sys.modules:
        return "policy_kwargs=dict(optimizer_kwargs=dict(fused=True))"
    return f"torch.optim.{name}(..., fused=True)"
