"""ALE's vector environment: a step may be made by its two halves, or by functions for programs that JAX compiles."""

from collections.abc import Callable
from typing import Any

from rlscope.record.hooks import FunctionHook, MethodHook, WrapperHook, in_operations

ENVIRONMENT = ("ale_py.vector_env", "AtariVectorEnv")
STEP = ("simulation",)


def _compilable(xla: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of the method that gives a handle and the functions that reset and step with it."""
    module, owner = ENVIRONMENT
    hooks = (
        FunctionHook(module, f"{owner}.xla.reset", ("simulation", "reset"), is_traced=True),
        FunctionHook(module, f"{owner}.xla.step", STEP, is_traced=True),
    )

    def made(*args: Any, **kwargs: Any) -> Any:
        handle, *functions = xla(*args, **kwargs)
        return handle, *(in_operations(function, hook) for function, hook in zip(functions, hooks, strict=True))

    return made


HOOKS: tuple[FunctionHook | MethodHook | WrapperHook, ...] = (
    MethodHook(*ENVIRONMENT, "send", STEP),
    MethodHook(*ENVIRONMENT, "recv", STEP),
    WrapperHook(ENVIRONMENT[0], (ENVIRONMENT[1], "xla"), _compilable),
)
