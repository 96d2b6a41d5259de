"""The Arcade Learning Environment: every method of the emulator; half steps and compilable steps of its vector."""

from collections.abc import Callable
from typing import Any

from rlscope.model import Category
from rlscope.record.declared.hooks import in_operations
from rlscope.record.declared.kinds import Boundary, FunctionHook, Hook, MethodHook, WrapperHook

ENVIRONMENT = ("ale_py.vector_env", "AtariVectorEnv")
STEP = ("simulation",)


def _compilable(xla: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that gives a handle and the functions that reset and step with it."""
    module, owner = ENVIRONMENT
    hooks = (
        FunctionHook(module, f"{owner}.xla.reset", ("simulation", "reset"), is_traced=True),
        FunctionHook(module, f"{owner}.xla.step", STEP, is_traced=True),
    )

    def made(*args: Any, **kwargs: Any) -> Any:
        handle, *functions = xla(*args, **kwargs)
        return handle, *(in_operations(function, hook) for function, hook in zip(functions, hooks, strict=True))

    return made


BOUNDARIES = (
    Boundary(
        library="ale_py",
        category=Category.SIMULATOR,
        containers=("ale_py._ale_py.ALEInterface", "ale_py._ale_py.ALEVectorInterface"),
        not_crossings=frozenset({"__init__"}),
    ),
)
HOOKS: tuple[Hook, ...] = (
    MethodHook(*ENVIRONMENT, "send", STEP),
    MethodHook(*ENVIRONMENT, "recv", STEP),
    WrapperHook(ENVIRONMENT[0], (ENVIRONMENT[1], "xla"), _compilable),
)
