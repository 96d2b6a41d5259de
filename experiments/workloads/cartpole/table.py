"""This file finds an implementation by name and imports it only then, because each needs packages of its own."""

import importlib

from cartpole.implementation import Implementation, UnavailableError

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


def load(name: str) -> type[Implementation]:
    """Return the class of an implementation.

    Raises:
        UnavailableError: this Python lacks a package that it needs.
    """
    module, symbol = IMPLEMENTATIONS[name]
    try:
        loaded: type[Implementation] = getattr(importlib.import_module(module), symbol)
    except ImportError as error:
        raise UnavailableError(f"{name}: not testable here: {error}; install what it needs") from error
    return loaded
