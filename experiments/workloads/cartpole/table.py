"""This file finds an implementation by name and imports it only then, because each needs packages of its own."""

import importlib
from collections.abc import Mapping
from typing import Any

from cartpole.implementation import UnavailableError

#: The modules and classes.
IMPLEMENTATIONS = {
    "Gymnasium": ("cartpole.gym_loop", "GymLoop"),
    "C++ threads": ("cartpole.cpp_threads", "CppThreads"),
    "PyTorch": ("cartpole.pytorch_eager", "Eager"),
    "PyTorch compiled": ("cartpole.pytorch_compiled", "Compiled"),
    "CUDA graph": ("cartpole.cuda_graph", "CudaGraph"),
    "XLA": ("cartpole.xla", "Xla"),
    "CUDA": ("cartpole.cuda", "Cuda"),
}


def load(name: str, implementations: Mapping[str, tuple[str, str]] = IMPLEMENTATIONS) -> Any:
    """Return the class of an implementation of CartPole, or of another table.

    Raises:
        UnavailableError: this Python lacks a package that it needs.
    """
    module, symbol = implementations[name]
    try:
        return getattr(importlib.import_module(module), symbol)
    except ImportError as error:
        raise UnavailableError(f"{name}: not testable here: {error}; install what it needs") from error
