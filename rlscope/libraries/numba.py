"""Numba: a call of a compiled function is native code; compiling one, at its first call, is the operation `compile`."""

from rlscope.model import COMPILE, Category
from rlscope.record.declared.kinds import Boundary, Hook, MethodHook

BOUNDARIES = (
    Boundary(
        library="numba.core.dispatcher",
        category=Category.NATIVE,
        function_objects=(("numba._dispatcher.Dispatcher", "py_func"),),
        callbacks=(("numba.core.dispatcher", "_DispatcherBase", "_compile_for_args"),),
    ),
)
HOOKS: tuple[Hook, ...] = (MethodHook("numba.core.dispatcher", "Dispatcher", "compile", (COMPILE,)),)
