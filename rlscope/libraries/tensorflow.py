"""TensorFlow 2: calls of the backend; gradients, tracing, and compiled functions, which are what was met in them."""

import sys
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

from rlscope import _native
from rlscope.model import Category
from rlscope.record.declared.compiling import compiling
from rlscope.record.declared.hooks import scope_of
from rlscope.record.declared.kinds import Boundary, Hook, MethodHook, WrapperHook
from rlscope.record.declared.tracing import Operations, is_tracing, meet, operations_of, stages_of, tracing

FUNCTION = "tensorflow.python.eager.polymorphic_function"
LEARNING = _native.default_operation("backpropagation")
#: What a network's call is that no library makes for a purpose of its own.
NETWORK = ("inference",)

Function = Callable[..., Any]
Place = tuple[CodeType, int]


class Compiled:
    """The operations met while a function was traced, once or several times, and the scopes of its calls."""

    def __init__(self) -> None:
        self.met: set[Operations] = set()
        self.traces = 0
        self.scopes: list[_native.Scope] = []

    def add(self, met: set[Operations]) -> None:
        """Add what was met when the function was traced (again)."""
        self.traces += 1
        self.met |= met
        # What differentiates is backpropagation also where it calls a network before: that gives it its targets.
        called = {NETWORK} if "backpropagation" in stages_of(self.met) else set()
        self.scopes = [scope_of(operation) for operation in operations_of(self.met - called)]


#: By traced function (ConcreteFunction), and by what all traces of a tf.function share, for the call that finds one.
_compiled: weakref.WeakKeyDictionary[Any, Compiled] = weakref.WeakKeyDictionary()


def _tracing(create: Function) -> Function:
    """Wrap the function that makes a graph of a Python function."""

    def create_concrete_function(*args: Any) -> Any:
        shared = getattr(args[-1], "function_captures", None)
        known = _compiled.get(shared) if shared is not None else None
        # A function that makes variables is traced twice at its first call.
        with compiling(known is not None and known.traces > 1), tracing() as met:
            concrete = create(*args)
        for traced in (concrete, shared):
            if traced is not None:
                _compiled.setdefault(traced, Compiled()).add(met)
        return concrete

    return create_concrete_function


def _as_met(call: Function, key: Callable[[Any], Any]) -> Function:
    """Wrap a method that calls a compiled function: each call is what was met in the function."""

    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        compiled = _compiled.get(key(self))
        if compiled is None:
            return call(self, *args, **kwargs)
        if is_tracing():
            meet(compiled.met)
            return call(self, *args, **kwargs)
        scopes = compiled.scopes
        for scope in scopes:
            scope.__enter__()
        try:
            return call(self, *args, **kwargs)
        finally:
            for scope in reversed(scopes):
                scope.__exit__(None, None, None)

    return called


#: The places, as code and instruction, at which tapes began whose gradient was taken; and where each began.
_learning: set[Place] = set()
_began_at: weakref.WeakKeyDictionary[Any, Place] = weakref.WeakKeyDictionary()
#: Tapes inside which backpropagation was opened.
_open: weakref.WeakSet[Any] = weakref.WeakSet()


def _beginning(enter: Function) -> Function:
    """Wrap the method with which a tape begins, and learning if the gradient was taken of one from there."""

    def entered(tape: Any) -> Any:
        result = enter(tape)
        if is_tracing():
            return result
        caller = sys._getframe(1)
        place = _began_at[tape] = (caller.f_code, caller.f_lasti)
        if place in _learning:
            _open.add(tape)
            LEARNING.__enter__()
        return result

    return entered


def _ending(leave: Function) -> Function:
    """Wrap the method with which a tape ends."""

    def left(tape: Any, *raised: Any) -> Any:
        if tape in _open:
            _open.remove(tape)
            LEARNING.__exit__(None, None, None)
        return leave(tape, *raised)

    return left


def _learn(tape: Any) -> None:
    """Note that the gradient of a tape is taken."""
    if tape in _began_at:
        _learning.add(_began_at[tape])


EAGER = "tensorflow.python.pywrap_tfe"
BACKPROP = "tensorflow.python.eager.backprop"
SESSION = "tensorflow.python.client.pywrap_tf_session"
TENSOR = "tensorflow.python.framework.ops.EagerTensor"

BOUNDARIES = (
    Boundary(
        library=EAGER,
        category=Category.BACKEND,
        functions=tuple(
            f"{EAGER}.{name}"
            for name in (
                "TFE_Py_FastPathExecute",
                "TFE_Py_Execute",  # a compiled function is one such call
                "TFE_Py_ExecuteCancelable",
                "TFE_Py_TapeGradient",
                "TFE_ContextSyncExecutors",
            )
        ),
        # A tape calls the gradients of operations, and what makes and adds tensors of gradients.
        registered=(
            (BACKPROP, "_gradient_function", f"{EAGER}.TFE_Py_RegisterGradientFunction"),
            (BACKPROP, "_default_vspace", f"{EAGER}.TFE_Py_RegisterVSpace"),
        ),
        callback_takers=((EAGER, "TFE_Py_TapeSetRecordOperation"),),
        callbacks=(
            # tf.py_function and tf.numpy_function: on a thread of TensorFlow's, while the caller is in the backend.
            ("tensorflow.python.ops.script_ops", "FuncRegistry", "__call__"),
        ),
    ),
    Boundary(
        library="tensorflow.python.framework.ops",
        category=Category.BACKEND,
        functions=(f"{TENSOR}._numpy_internal", f"{TENSOR}._copy_to_device"),
        buffers=(TENSOR,),  # numpy.asarray(x)
        constructed=(TENSOR,),  # tensorflow.constant(x)
    ),
    Boundary(
        library=SESSION,
        category=Category.BACKEND,
        functions=(
            f"{SESSION}.TF_SessionRun_wrapper",
            f"{SESSION}.TF_SessionPRun_wrapper",
            f"{SESSION}.TF_SessionRunCallable",
        ),
    ),
)
HOOKS: tuple[Hook, ...] = (
    MethodHook(BACKPROP, "GradientTape", "gradient", ("backpropagation",), is_traced=True, before=_learn),
    WrapperHook(BACKPROP, ("GradientTape", "__enter__"), _beginning),
    WrapperHook(BACKPROP, ("GradientTape", "__exit__"), _ending),
    WrapperHook(f"{FUNCTION}.tracing_compilation", ("_create_concrete_function",), _tracing),
    # The first finds, or makes, the traced function that the second then runs.
    WrapperHook(
        f"{FUNCTION}.polymorphic_function",
        ("Function", "__call__"),
        lambda call: _as_met(call, lambda function: getattr(function, "_function_captures", function)),
    ),
    WrapperHook(
        f"{FUNCTION}.concrete_function",
        ("ConcreteFunction", "_call_flat"),
        lambda call: _as_met(call, lambda function: function),
    ),
)
