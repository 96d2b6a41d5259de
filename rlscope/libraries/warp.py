"""Warp: kernels that it runs on a CPU, replays of captured graphs there, each by name; compiling a module of kernels.

On a GPU, launches and graphs are calls of CUDA, which are recorded for every library, with the kernels' own names.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from rlscope import _native
from rlscope.model import COMPILE, Category
from rlscope.record.declared.kinds import Boundary, Hook, MethodHook, WrapperHook

CONTEXT = "warp._src.context"
named = cache(_native.simulator_call)


def _launching(invoke: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that calls a compiled kernel, through ctypes."""

    def launching(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        with named(f"warp.{kernel.key}"):
            return invoke(kernel, *args, **kwargs)

    return launching


def _replaying(launch: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that replays a captured graph."""

    def replaying(graph: Any, *args: Any, **kwargs: Any) -> Any:
        if not graph.device.is_cpu:
            return launch(graph, *args, **kwargs)
        with named("warp.capture_launch"):
            return launch(graph, *args, **kwargs)

    return replaying


BOUNDARIES = (
    Boundary(
        library=CONTEXT,
        category=Category.SIMULATOR,
        wrappers=(
            WrapperHook(CONTEXT, ("invoke",), _launching),
            WrapperHook(CONTEXT, ("invoke_cpu_blocks",), _launching),
            WrapperHook(CONTEXT, ("capture_launch",), _replaying),
        ),
    ),
)
HOOKS: tuple[Hook, ...] = (MethodHook(CONTEXT, "Module", "_compile", (COMPILE,)),)
