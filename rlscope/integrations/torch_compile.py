"""torch.compile: compiling, of the forward pass and later of the backward pass, is an operation of its own.

A function that the user has named keeps its name: the compiler reads what is inside it, and makes another function.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from rlscope import _native
from rlscope.record.hooks import WrapperHook, scope_of
from rlscope.record.tracing import noted_operations, noting

COMPILE = _native.operation("compile")


def _compiling(install: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of the context manager inside which Dynamo compiles, which tells the program's callbacks so."""

    @contextlib.contextmanager
    def compiling(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with COMPILE, install(*args, **kwargs) as value:
            yield value

    return compiling


def _keeping_operations(make: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of the method that makes the compiled function."""

    def compiling(context: Any, function: Any) -> Any:
        compiled, operations = make(context, function), noted_operations(function)
        if not operations:
            return compiled
        return noting(compiled, _native.Hooked(compiled, tuple(map(scope_of, operations))), operations)

    return compiling


HOOKS = (
    WrapperHook("torch._dynamo.callback", ("CompilationCallbackHandler", "install_callbacks"), _compiling),
    WrapperHook("torch._dynamo.eval_frame", ("_TorchDynamoContext", "__call__"), _keeping_operations),
)
