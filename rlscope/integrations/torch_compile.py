"""torch.compile: compiling, of the forward pass and later of the backward pass, is an operation of its own."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from rlscope import _native
from rlscope.record.hooks import WrapperHook

COMPILE = _native.operation("compile")


def _compiling(install: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of the context manager inside which Dynamo compiles, which tells the program's callbacks so."""

    @contextlib.contextmanager
    def compiling(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with COMPILE, install(*args, **kwargs) as value:
            yield value

    return compiling


HOOKS = (WrapperHook("torch._dynamo.callback", ("CompilationCallbackHandler", "install_callbacks"), _compiling),)
