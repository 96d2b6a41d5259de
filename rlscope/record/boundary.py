"""Boundaries: which native functions of a library are crossings, and how they are found and intercepted."""

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rlscope import _native
from rlscope.model import Category
from rlscope.record.native_names import intercept_named, resolve, unwrapped

#: One PyMethodDef serves the `__new__` of every built-in type, and CPython compares its pointer.
NEVER = frozenset({"__new__", "__init_subclass__", "__subclasshook__", "__class_getitem__"})


@dataclass(frozen=True)
class Maker:
    """A native function that makes compiled functions, which come and go: calls of them are crossings.

    Attributes:
        module: The module in which it is called by its name.
        function: Its name; its first argument is the name of what it makes, its third is Python that compiles it when a
            call needs that.
        type: The type of what it makes, by which those are found that were made before.
        label: What calls are recorded as: `jax.jit` becomes `jax.jit(name)`.
    """

    module: str
    function: str
    type: str
    label: str


@dataclass(frozen=True)
class Loader:
    """A function that loads a module of generated code, whose own native functions are crossings.

    Attributes:
        module: The module in which it is called by its name.
        function: Its name; it returns what it loaded.
        loaded: The class and its attribute in that module that hold what was loaded before.
        label: What stands before the name of such a function in the trace.
    """

    module: str
    function: str
    loaded: tuple[str, str]
    label: str


@dataclass(frozen=True)
class Boundary:
    """The native functions of one library that are crossings.

    Attributes:
        library: The module after whose import they are intercepted.
        category: What time inside them is.
        containers: Dotted names of modules and types all of whose native functions are crossings.
        functions: Dotted names of single functions and methods.
        not_crossings: Names in the containers that do no work: predicates, accessors of metadata.
        indexed: Types of which x[i] and x[i] = v are crossings, subclasses included.
        buffers: Types of which it is a crossing to get the memory, as numpy.asarray(x) does.
        constructed: Types of which it is a crossing to make an object, as a tensor of an array.
        makers: Functions that make compiled functions, calls of which are crossings.
        loaders: Functions that load generated modules, whose native functions are crossings.
        callbacks: Python methods, as (module, class, method), through which native code calls the program: inside them
            and what subclasses put in their place, time is Python's again.
        registered: What a module gave to native code to call when it was imported, a function or a named tuple of some,
            as (module, name, dotted name of the function that took it): inside it time is Python's again.
        callback_takers: Functions, as (module, function) or (module, class, method), that are given Python for native
            code to call: inside it time is Python's again.
    """

    library: str
    category: Category
    containers: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    not_crossings: frozenset[str] = frozenset()
    indexed: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    constructed: tuple[str, ...] = ()
    makers: tuple[Maker, ...] = ()
    loaders: tuple[Loader, ...] = ()
    callbacks: tuple[tuple[str, str, str], ...] = ()
    registered: tuple[tuple[str, str, str], ...] = ()
    callback_takers: tuple[tuple[str, ...], ...] = ()


def native_functions(container: Any) -> Iterator[tuple[str, Any]]:
    """Names and objects of the native functions in the container's own dictionary (never inherited ones)."""
    is_plain = isinstance(container, type | types.ModuleType)
    for name, value in list(vars(container if is_plain else type(container)).items()):
        function = unwrapped(value)
        if name not in NEVER and is_native(function):
            yield name, function


def is_native(function: Any) -> bool:
    """Whether this is a function or method of native code, of whichever kind."""
    kinds = types.BuiltinFunctionType | types.MethodDescriptorType | types.ClassMethodDescriptorType
    return isinstance(function, kinds) or type(function).__name__ in ("nb_func", "nb_method")


def intercept_container(dotted: str, container: Any, category: Category, not_crossings: frozenset[str]) -> int:
    """Intercepts every native function of a module or type. Returns how many there were."""
    return sum(
        _native.intercept(function, f"{dotted}.{name}", category)
        for name, function in native_functions(container)
        if name not in not_crossings
    )


def intercept_generated(module: types.ModuleType, label: str, category: Category) -> int:
    """Intercepts the native functions that a generated module has of its own, not those of the library around it."""
    count = 0
    for name, function in vars(module).items():
        owner = function.__self__ if isinstance(function, types.BuiltinFunctionType) else None
        if isinstance(owner, types.ModuleType) and owner.__name__.partition(".")[0] not in ("builtins", "torch"):
            count += _native.intercept(function, f"{label}.{name}", category)
    return count


def intercept(boundary: Boundary) -> int:
    """Intercepts what `boundary` names. Returns how many functions were found."""
    count = 0
    for dotted in boundary.containers:
        container = resolve(dotted)
        if container is not None:
            count += intercept_container(dotted, container, boundary.category, boundary.not_crossings)
    count += intercept_named(boundary.functions, boundary.category)
    for owners, intercept_type, name in (
        (boundary.buffers, _native.intercept_buffers, "__buffer__"),
        (boundary.constructed, _native.intercept_construction, "__init__"),
    ):
        for dotted in owners:
            owner = resolve(dotted)
            if isinstance(owner, type):
                count += intercept_type(owner, f"{dotted}.{name}", boundary.category)
    return count
