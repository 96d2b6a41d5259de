"""JAX: compiling is an operation, and the calls of a compiled function are in the stage that was met in it.

An environment that is part of a compiled function leaves no crossing to the simulator: its time is the backend's. So
that it can be seen, such a call is in the stage simulation. Where the function does more than simulate, it is in an
operation that names the stages inside, `simulation+inference`: nobody can say how its time is divided between them.
"""

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from rlscope import _native
from rlscope.record.hooks import FunctionHook, MethodHook, WrapperHook, in_operations
from rlscope.record.tracing import Operations, is_tracing, meet, stages_of, tracing

COMPILE = _native.operation("compile")
PYTHON = _native.callback("jax.jit: compiling")  # also where a call was made before the recording began

STEP = ("simulation",)
RESET = ("simulation", "reset")
BACKPROPAGATION = FunctionHook("jax._src.api", "value_and_grad", ("backpropagation",), is_traced=True)

Function = Callable[..., Any]


class _Thread(threading.local):
    """What was met in the function whose call this thread found not to be compiled yet."""

    def __init__(self) -> None:
        self.met: set[Operations] = set()


_thread = _Thread()


def label_of(met: set[Operations]) -> _native.Scope | None:
    """The scope of a compiled function's calls; None where nothing says what they are.

    A function that differentiates is backpropagation also where it calls a network before: that gives it its targets.
    """
    stages = stages_of(met)
    if stages == ["inference", "backpropagation"]:
        stages = ["backpropagation"]
    return _native.default_operation("+".join(stages)) if stages else None


def _making(make: Function) -> Function:
    """In the place of the function that makes compiled functions."""

    def pjit(name: str, function: Function, miss: Function, *args: Any, **kwargs: Any) -> Any:
        met: set[Operations] = set()
        made: list[weakref.ref[Any]] = []

        @functools.wraps(miss)
        def missed(*call_args: Any, **call_kwargs: Any) -> Any:
            before = len(met)
            with _noting(met):
                result = miss(*call_args, **call_kwargs)
            compiled = made[0]()
            if len(met) > before and compiled is not None:
                _native.label_compiled(compiled, label_of(met))
            return result

        compiled = make(name, function, missed, *args, **kwargs)
        made.append(weakref.ref(compiled))
        return compiled

    return pjit


@contextlib.contextmanager
def _noting(met: set[Operations]) -> Iterator[None]:
    """A function that was not compiled for such arguments is called, by the program or by one that is being traced."""
    if is_tracing():
        with tracing() as found:
            yield
        met |= found
        meet(met)  # it may have been traced for an earlier caller
        return
    outer, _thread.met = _thread.met, met
    try:
        yield
    finally:
        _thread.met = outer


def _timing(timer: Function) -> Function:
    """In the place of the context manager inside which JAX traces, lowers and compiles."""

    @contextlib.contextmanager
    def timed(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with PYTHON, COMPILE, tracing() as met, timer(*args, **kwargs) as value:
            yield value
        _thread.met |= met

    return timed


def _differentiating(transform: Function) -> Function:
    """In the place of jax.value_and_grad, which jax.grad calls."""
    return lambda *args, **kwargs: in_operations(transform(*args, **kwargs), BACKPROPAGATION)


HOOKS: tuple[FunctionHook | MethodHook | WrapperHook, ...] = (
    WrapperHook("jaxlib._jax", ("pjit",), _making),
    WrapperHook("jax._src.dispatch", ("log_elapsed_time",), _timing),
    WrapperHook("jax._src.api", ("value_and_grad",), _differentiating),
    MethodHook("flax.linen.module", "Module", "apply", ("inference",), is_traced=True, is_default=True),
    MethodHook("brax.envs.base", "Env", "step", STEP, is_traced=True),
    MethodHook("brax.envs.base", "Env", "reset", RESET, is_traced=True),
    MethodHook("gymnax.environments.environment", "Environment", "step", STEP, is_traced=True),
    MethodHook("gymnax.environments.environment", "Environment", "reset", RESET, is_traced=True),
    MethodHook("pgx.core", "Env", "step", STEP, is_traced=True),
    MethodHook("pgx.core", "Env", "init", RESET, is_traced=True),
    FunctionHook("mujoco.mjx", "step", STEP, is_traced=True),
)
