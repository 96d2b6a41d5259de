"""A library's file declares which native functions are crossings, and which Python functions are operations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rlscope.model import Category

Notice = Callable[[Any], None]


@dataclass(frozen=True)
class WrapperHook:
    """A function, or a method of a class, in whose place a library's file puts one of its own.

    Attributes:
        module: The module in which it is replaced, after its import.
        path: The function's name, or the class's and the method's, or those of several objects, each inside the last.
        wrap: Makes the one from the other.
        is_always: Whether it is put there also where no operations of libraries are wanted, for those that are named.
    """

    module: str
    path: tuple[str, ...]
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]]
    is_always: bool = False


@dataclass(frozen=True)
class Boundary:
    """The native functions of one library that are crossings.

    Attributes:
        library: The module after whose import they are intercepted.
        category: What time inside them is; of Python they have only a name, for what they wait for.
        containers: Dotted names of modules and types all of whose native functions are crossings.
        functions: Dotted names of single functions and methods.
        not_crossings: Names in the containers that do no work: predicates, accessors of metadata.
        indexed: Types of which x[i] and x[i] = v are crossings, subclasses included.
        buffers: Types of which it is a crossing to get the memory, as numpy.asarray(x) does.
        launched: Types whose objects get their values after the call that made them has returned. Who waits for one is
            in the operation in which it was made, also who waits to get its memory, as numpy.asarray(x) does.
        held: The attribute under which other objects of their base class have one, as JAX's keys have an array.
        awaiting: Dotted names of functions that wait for such an object, their first argument, or for all in a list.
        constructed: Types of which it is a crossing to make an object, as a tensor of an array.
        function_objects: Types whose objects, and those of types derived from them, stand for a native function each,
            with what tells which: `pointer` and `address` lie in the object as those of ctypes and cffi do, else the
            attribute that has the Python function of which the code was made. Calling one is a crossing.
        wrappers: Replacements of functions that make, or load, native functions while the program runs, and tell which
            of them are crossings.
        callbacks: Python methods, as (module, class, method), through which native code calls the program: inside them
            and what subclasses put in their place, time is Python's again.
        registered: What a module gave to native code to call when it was imported, a function or a named tuple of some,
            as (module, name, dotted name of the function that took it): inside it time is Python's again.
        callback_takers: Functions, as (module, function) or (module, class, method), that are given Python for native
            code to call: inside it time is Python's again.
        waits_for: The kind of what `functions` wait for while they are blocked, as in rlscope/record/blocking.py; ""
            where that differs.
        inherited: Dotted names of methods of a Python class whose subclasses have them of native code, as classes do
            that are made of a native one and of a mixin.
    """

    library: str
    category: Category
    containers: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    not_crossings: frozenset[str] = frozenset()
    indexed: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    launched: tuple[str, ...] = ()
    held: str = ""
    awaiting: tuple[str, ...] = ()
    constructed: tuple[str, ...] = ()
    function_objects: tuple[tuple[str, str], ...] = ()
    wrappers: tuple[WrapperHook, ...] = ()
    callbacks: tuple[tuple[str, str, str], ...] = ()
    registered: tuple[tuple[str, str, str], ...] = ()
    callback_takers: tuple[tuple[str, ...], ...] = ()
    inherited: tuple[str, ...] = ()
    waits_for: str = ""

    @property
    def layer(self) -> str:
        """Return with which of the layers that are recorded it is: of Python that waits that is `wait`."""
        return (Category.WAIT if self.category is Category.PYTHON else self.category).label


@dataclass(frozen=True)
class FunctionHook:
    """A function as one module knows it (`from x import f` makes a name of its own in each).

    Attributes:
        module: The module in which the name is replaced, after its import.
        name: The function's name there.
        operations: One or two operations, outermost first. A stage that is open already is not opened again.
        is_traced: Whether a library may trace the function, to run what it compiled of it later.
        phase: A phase around the operations; empty for none. The phase that was open goes on afterwards.
    """

    module: str
    name: str
    operations: tuple[str, ...]
    is_traced: bool = False
    phase: str = ""


@dataclass(frozen=True)
class Held:
    """The methods of what instances of a class hold, of whichever class that is, as a trainer does its environment.

    For example, `OnPolicyRunner.learn` steps `self.env`. Methods of that object's class are hooked when `learn` is
    called, unless they are hooked already.

    Attributes:
        attribute: Its name in the instances.
        methods: The methods of what is held, each with its operations as in FunctionHook.
    """

    attribute: str
    methods: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class MethodHook:
    """A method of a class and of all its subclasses that have one of their own, later ones too.

    Plain functions are wrapped, also as static and class methods, and where a mixin that is no such class has them.
    Where functions may be traced, so is what was compiled of one.
    What else may stand in their place is left alone: objects that can be called, and, but where that is said, coroutine
    functions and generators.

    Attributes:
        module: The module that defines the class.
        owner: The class.
        name: The method.
        operations: As in FunctionHook; none to be told about calls only.
        phase: As in FunctionHook.
        before: Called with the instance before the outermost call.
        after: Called with the instance after the outermost call has returned.
        is_traced: As in FunctionHook.
        is_default: Whether the first operation opens only where no stage is open.
        is_in_steps: Whether coroutine functions and generators are wrapped too.
        is_named: Whether the user has named the method: then it is wrapped although another hook wraps it as well.
        held: What the instance of a call holds and uses.
        steps: What a call adds to the steps of environments that loops without a library are counted by: nothing, "one"
            or as many as the instance has in "num_envs". Not of resets, nor where several calls make a step.
    """

    module: str
    owner: str
    name: str
    operations: tuple[str, ...]
    before: Notice | None = None
    after: Notice | None = None
    is_traced: bool = False
    is_default: bool = False
    is_in_steps: bool = False
    is_named: bool = False
    phase: str = ""
    held: Held | None = None
    steps: str = ""


@dataclass(frozen=True)
class TimerHook:
    """A function with which a library times its own parts, as in `with timer("generate"):`.

    Attributes:
        module: The module in which it is replaced, after its import.
        path: The function's name, or the class's and the method's; a class's alone if its objects are the timers.
        operations: By the first string that it is given: operations as in FunctionHook. Other strings open nothing.
        is_default: Whether the first of these, a stage, opens only where no stage is open.
    """

    module: str
    path: tuple[str, ...]
    operations: Mapping[str, tuple[str, ...]]
    is_default: bool = False


@dataclass(frozen=True)
class ProfilerHook:
    """Another profiler, which must have CUPTI while it runs: CUPTI serves one at a time.

    Attributes:
        name: The profiler's, for the gap that it leaves in the trace.
        modules: Modules in which the names are replaced, after their import.
        takes: Functions that begin with taking CUPTI.
        returns: Functions after which it is free.
        prepares: A class and its method that prepares a recording, where its instances have results that keep bare
            pointers to the names of code: what runs until a function of `returns` is called lives as long as they.
    """

    name: str
    modules: tuple[str, ...]
    takes: tuple[str, ...]
    returns: tuple[str, ...]
    prepares: tuple[str, str] | None = None


HookInModule: TypeAlias = FunctionHook | MethodHook | WrapperHook | TimerHook
Hook: TypeAlias = HookInModule | ProfilerHook
