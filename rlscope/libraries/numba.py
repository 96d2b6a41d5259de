"""Numba: a call of a compiled function is native code; compiling one, at its first call, is the operation `compile`."""

import functools
from collections.abc import Callable
from typing import Any

from rlscope.model import Category
from rlscope.record.declared.compiling import compiling
from rlscope.record.declared.kinds import Boundary, Hook, WrapperHook


def _compiling(compile_for: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that compiles a function for types of arguments: again, where it has been for others."""

    @functools.wraps(compile_for)
    def compile_in_operation(dispatcher: Any, *args: Any) -> Any:
        with compiling(bool(dispatcher.overloads)):
            return compile_for(dispatcher, *args)

    return compile_in_operation


BOUNDARIES = (
    Boundary(
        library="numba.core.dispatcher",
        category=Category.NATIVE,
        function_objects=(("numba._dispatcher.Dispatcher", "py_func"),),
        callbacks=(("numba.core.dispatcher", "_DispatcherBase", "_compile_for_args"),),
    ),
)
HOOKS: tuple[Hook, ...] = (WrapperHook("numba.core.dispatcher", ("Dispatcher", "compile"), _compiling),)
