"""Numba: compiling a function is the operation `compile`, at its first call with arguments of these types."""

from rlscope.model import COMPILE
from rlscope.record.declared.kinds import Hook, MethodHook

HOOKS: tuple[Hook, ...] = (MethodHook("numba.core.dispatcher", "Dispatcher", "compile", (COMPILE,)),)
