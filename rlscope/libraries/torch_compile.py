"""torch.compile: compiling, of the forward pass and later of the backward pass, is an operation of its own.

A function that the user has named keeps its name: the compiler reads what is inside it, and makes another function.
Where it has put a network into that one, a call of it is followed as a call of the network is.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, ModuleType
from typing import Any

from rlscope import _native
from rlscope.model import Category
from rlscope.record.declared.compiling import compiling as compiling_function
from rlscope.record.declared.hooks import scope_of
from rlscope.record.declared.kinds import Boundary, Hook, WrapperHook
from rlscope.record.declared.tracing import noted_operations, noting


def _compiling(install: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the context manager inside which Dynamo compiles, which tells the program's callbacks so.

    Its last argument is the number of a function and, behind a slash, how often that was compiled before. It is the
    same a second time where the program had Dynamo forget what was compiled, by `torch.compiler.reset()`.
    """
    compiled: set[str] = set()

    @contextlib.contextmanager
    def compiling(*args: Any, **kwargs: Any) -> Iterator[Any]:
        name = str((*args, *kwargs.values())[-1])
        before = name.rpartition("/")[2].partition("_")[0]
        is_again = before.isdecimal() and (int(before) > 0 or name in compiled)
        compiled.add(name)
        with compiling_function(is_again), install(*args, **kwargs) as value:
            yield value

    return compiling


def _loading(load: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that loads a module of generated code; others may have been loaded before."""

    def loading(*args: Any, **kwargs: Any) -> Any:
        loaded = load(*args, **kwargs)
        intercept_generated(loaded)
        return loaded

    for known in getattr(sys.modules[CODE].PyCodeCache, "modules", ()):
        intercept_generated(known)
    return loading


def intercept_generated(module: ModuleType) -> int:
    """Intercept the native functions that a generated module has of its own, and return how many those are."""
    count = 0
    for name, function in vars(module).items():
        owner = function.__self__ if isinstance(function, BuiltinFunctionType) else None
        if isinstance(owner, ModuleType) and owner.__name__.partition(".")[0] not in ("builtins", "torch"):
            count += _native.intercept(function, f"inductor.{name}", Category.BACKEND)
    return count


def _keeping_operations(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that makes the compiled function, which keeps the operations of its source."""

    def compiling(context: Any, function: Any) -> Any:
        compiled, operations = make(context, function), noted_operations(function)
        if not operations:
            return compiled
        return noting(compiled, _native.Hooked(compiled, tuple(map(scope_of, operations))), operations)

    return compiling


def _calling_networks(compile_graph: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the method that compiles a graph: one that takes the parameters of a network has the network in it.

    Its call is the network's, whose own is not there any more.
    """
    unfollowed = _native.follow_compiled(_native.Hooked(compile_graph, ()), False)

    def compiling(output: Any, *args: Any) -> Any:
        compiled = unfollowed(output, *args)
        parameter = sys.modules["torch"].nn.Parameter
        has_network = any(isinstance(value, parameter) for value in output.example_inputs())
        return _native.follow_compiled(_native.Hooked(compiled, ()), has_network)

    return compiling


CODE = "torch._inductor.codecache"
GUARDS = "torch._C._dynamo.guards"

BOUNDARIES = (
    Boundary(
        library=CODE,
        category=Category.BACKEND,
        functions=(
            f"{GUARDS}._empty_strided_cpu",
            f"{GUARDS}._empty_strided_cuda",
            "torch._C._StaticCudaLauncher._launch_kernel",
        ),
        wrappers=(WrapperHook(CODE, ("_reload_python_module",), _loading),),
    ),
)
HOOKS: tuple[Hook, ...] = (
    WrapperHook("torch._dynamo.callback", ("CompilationCallbackHandler", "install_callbacks"), _compiling),
    WrapperHook("torch._dynamo.output_graph", ("OutputGraph", "call_user_compiler"), _calling_networks),
    WrapperHook("torch._dynamo.eval_frame", ("_TorchDynamoContext", "__call__"), _keeping_operations),
)
