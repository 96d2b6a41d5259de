"""JAX: compiling is an operation, and the calls of a compiled function are in the stage that was met in it.

What a call computes after it was compiled is in that stage, too, and so is the wait for the arrays that it returns.

An environment that is part of a compiled function leaves no crossing to the simulator: its time is the backend's. So
that it can be seen, such a call is in the stage simulation. Where the function does more than simulate, it is in an
operation that names the stages inside, `simulation+inference`: nobody can say how its time is divided between them.
"""

import contextlib
import functools
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from rlscope import _native
from rlscope.model import Category
from rlscope.record.declared.compiling import compiling
from rlscope.record.declared.hooks import in_operations
from rlscope.record.declared.kinds import Boundary, FunctionHook, Hook, ProfilerHook, WrapperHook
from rlscope.record.declared.tracing import Operations, is_tracing, meet, stages_of, tracing

LIBRARY = "jaxlib._jax"
PYTHON = _native.callback("jax.jit: compiling")  # also where a call was made before the recording began

ACTING = _native.guessed_stage("inference")
BACKPROPAGATION = FunctionHook("jax._src.api", "value_and_grad", ("backpropagation",), is_traced=True)

Function = Callable[..., Any]


class _Source:
    """A Python function: what was met in it, and what JAX has made of it, all of which share what was compiled once."""

    def __init__(self) -> None:
        self.met: set[Operations] = set()
        self.made: weakref.WeakSet[Any] = weakref.WeakSet()


_sources: weakref.WeakKeyDictionary[Function, _Source] = weakref.WeakKeyDictionary()
#: By what came of tracing a function, which JAX keeps and puts into other functions: what was met meanwhile.
_met_in: weakref.WeakKeyDictionary[Any, set[Operations]] = weakref.WeakKeyDictionary()


class _Thread(threading.local):
    """The operations that were met in functions whose calls this thread found not to be compiled yet, innermost last.

    JAX may call another function to run the one that the program has called: nothing is met in that.
    """

    def __init__(self) -> None:
        self.missed: list[set[Operations]] = []
        self.is_again = False  # whether the outermost of them was compiled before


_thread = _Thread()


def label_of(met: set[Operations]) -> _native.Scope | None:
    """Return the scope of a compiled function's calls; None where nothing says what they are.

    A function that differentiates is backpropagation also where it calls a network before: that gives it its targets.
    """
    stages = stages_of(met)
    if stages == ["inference", "backpropagation"]:
        stages = ["backpropagation"]
    return _native.default_operation("+".join(stages)) if stages else None


def stage_of(compiled: Any) -> _native.Scope | None:
    """Return the scope of a compiled function's calls, where the program and not a trace calls it."""
    return None if is_tracing() else label_of(_source_of(compiled.__wrapped__).met)


def intercept_made(make: Function, kind: type) -> Function:
    """Wrap the function that makes compiled functions, of type `kind`: calls of these are crossings."""
    for known in gc.get_objects():
        if type(known) is kind:
            _native.intercept_compiled(known, f"jax.jit({getattr(known, '__name__', '?')})", Category.BACKEND)

    def making(name: str, function: Any, compile: Function, *args: Any, **kwargs: Any) -> Any:
        made = make(name, function, _native.Hooked(compile, (PYTHON,)), *args, **kwargs)
        _native.intercept_compiled(made, f"jax.jit({name})", Category.BACKEND)
        return made

    return making


def _making(make: Function) -> Function:
    """Wrap the function that makes compiled functions, to label each by what is met in it."""

    def pjit(name: str, function: Function, miss: Function, *args: Any, **kwargs: Any) -> Any:
        source = _source_of(function)
        code = _own_code(function)

        @functools.wraps(miss)
        def missed(*call_args: Any, **call_kwargs: Any) -> Any:
            before = len(source.met)
            if not _thread.missed:
                _thread.is_again = code in _compiled_code
                if code is not None:
                    _compiled_code.add(code)
            with _noting(source.met):
                result = miss(*call_args, **call_kwargs)
            if len(source.met) > before:
                for known in source.made:
                    _native.label_compiled(known, label_of(source.met))
            return result

        compiled = make(name, function, missed, *args, **kwargs)
        source.made.add(compiled)
        _native.label_compiled(compiled, label_of(source.met))
        _native.follow_acting(compiled, ACTING, "jax", _is_library(function))
        return compiled

    return pjit


#: Of functions that were compiled.
_compiled_code: weakref.WeakSet[Any] = weakref.WeakSet()


def _own_code(function: Any) -> Any:
    """Return the code of a function of the program's own, which it has also where it is made anew; None of others.

    JAX itself compiles its functions for other shapes as it needs them, and methods may be of different networks.
    """
    while isinstance(function, functools.partial) or hasattr(function, "__wrapped__"):
        function = function.func if isinstance(function, functools.partial) else function.__wrapped__
    if _is_library(function) or hasattr(function, "__self__"):
        return None
    return getattr(function, "__code__", None)


def _is_library(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] in ("jax", "flax", "optax")


def _source_of(function: Function) -> _Source:
    try:
        return _sources.setdefault(function, _Source())
    except TypeError:  # it cannot be told from others: JAX shares nothing then
        return _Source()


@contextlib.contextmanager
def _noting(met: set[Operations]) -> Iterator[None]:
    """Note what is met while a function is called that was not compiled for such arguments.

    The program calls it, or a function that is being traced.
    """
    if is_tracing():
        with tracing() as found:
            yield
        met |= found
        meet(met)  # it may have been traced for an earlier caller
        return
    _thread.missed.append(met)
    try:
        yield
    finally:
        _thread.missed.pop()


def _note(met: set[Operations]) -> None:
    """Note what was met in the function that is not compiled yet; outside any, nobody calls what comes of it."""
    if _thread.missed:
        _thread.missed[-1] |= met


def _tracing(trace: Function) -> Function:
    """Wrap the function that traces others: compiled ones, parts of these, and loops outside any."""

    def traced(*args: Any, **kwargs: Any) -> Any:
        with tracing() as met:
            made = trace(*args, **kwargs)
            known = _met_in.setdefault(made[0], set())
            known |= met
            met |= known
        if not is_tracing():  # of a function that is mapped while it is called
            _note(met)
        return made

    for name in dir(trace):
        if not name.startswith("_"):
            setattr(traced, name, getattr(trace, name))  # of a cache, from which JAX removes what is gone
    return traced


def _timing(timer: Function) -> Function:
    """Wrap the context manager inside which JAX traces, lowers and compiles."""

    @contextlib.contextmanager
    def timed(*args: Any, **kwargs: Any) -> Iterator[Any]:
        is_again = bool(_thread.missed) and _thread.is_again
        with PYTHON, compiling(is_again), tracing() as met, timer(*args, **kwargs) as value:
            yield value
        _note(met)

    return timed


def _running(run: Function) -> Function:
    """Wrap the method with which Python runs what was just compiled: it is what was met in it."""

    def running(*args: Any, **kwargs: Any) -> Any:
        met = next((met for met in reversed(_thread.missed) if met), None)
        label = label_of(met) if met and not is_tracing() else None
        if label is None:
            return run(*args, **kwargs)
        with label:
            return run(*args, **kwargs)

    return running


def _differentiating(transform: Function) -> Function:
    """Wrap jax.value_and_grad, which jax.grad calls."""
    return lambda *args, **kwargs: in_operations(transform(*args, **kwargs), BACKPROPAGATION)


BOUNDARIES = (
    Boundary(
        library=LIBRARY,
        category=Category.BACKEND,
        functions=tuple(
            f"{LIBRARY}.{name}"
            for name in (
                "ArrayImpl._copy_single_device_array_to_host_async",
                "Client.compile",
                "Client.compile_and_load",
                "LoadedExecutable.execute_sharded",  # of new functions and those with side effects, which Python runs
                "batched_copy_array_to_devices_with_sharding",
                "batched_device_put",
            )
        ),
        launched=(f"{LIBRARY}.ArrayImpl",),
        held="_base_array",
        awaiting=(
            f"{LIBRARY}.ArrayImpl.block_until_ready",
            f"{LIBRARY}.ArrayImpl._single_device_array_to_np_array_did_copy",  # float(x), x.tolist()
            f"{LIBRARY}.batched_block_until_ready",
        ),
        wrappers=(
            WrapperHook(LIBRARY, ("pjit",), lambda make: intercept_made(make, sys.modules[LIBRARY].PjitFunction)),
        ),
        # jax.pure_callback, io_callback and debug.callback: on whichever thread runs the computation.
        callback_takers=(("jax._src.callback", "emit_python_callback"),),
    ),
)
HOOKS: tuple[Hook, ...] = (
    WrapperHook(LIBRARY, ("pjit",), _making),
    WrapperHook("jax._src.interpreters.partial_eval", ("trace_to_jaxpr",), _tracing),
    WrapperHook("jax._src.dispatch", ("log_elapsed_time",), _timing),
    WrapperHook("jax._src.interpreters.pxla", ("ExecuteReplicated", "__call__"), _running),
    WrapperHook("jax._src.api", ("value_and_grad",), _differentiating),
    # `trace` starts and stops through the first module, programs through the second.
    ProfilerHook(
        name="jax.profiler",
        modules=("jax._src.profiler", "jax.profiler"),
        takes=("start_trace",),
        returns=("stop_trace", "stop_and_get_fdo_profile"),
    ),
)
