"""Operations that the user names from outside the program: which function, or timer, of which module is which stage."""

import functools
import inspect
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from rlscope import _native
from rlscope.errors import UsageError
from rlscope.model import EVALUATION, STAGES
from rlscope.record.declared.blocks import can_be_timed, follow_timer
from rlscope.record.declared.hooks import Hooks, scope_of
from rlscope.record.declared.kinds import FunctionHook, MethodHook
from rlscope.record.declared.tracing import know_compiler
from rlscope.record.import_hooks import ImportHooks
from rlscope.record.undeclared.script_functions import CAN_FOLLOW_SCRIPT, ScriptFunctions

SCRIPT = "__main__"
#: What functions may be: a stage, or a test of the policy, which is a phase.
KNOWN = (*STAGES, EVALUATION)
#: The property of a process that says of each named operation why it was not met there, null where it was.
PROPERTY = "named_operations"


@dataclass(frozen=True)
class NamedOperation:
    """A function, or a method of a class and of its subclasses, that is an operation, or that times one.

    Attributes:
        text: What the user wrote.
        operations: A stage, or a stage and an operation inside it; of an evaluation the operation inside it, if any.
        module: The module in which the function or class is found.
        path: The names that lead to it there: ("step",) or ("Env", "step").
        block: The name with which the function or class times the operation, as in `with timer("generate"):`; empty if
            the operation is the function itself.
        phase: The phase `evaluation` around the operations; empty for none.
    """

    text: str
    operations: tuple[str, ...]
    module: str
    path: tuple[str, ...]
    block: str = ""
    phase: str = ""

    @property
    def scopes(self) -> list[_native.Scope]:
        """Return the scopes that are opened, the outermost first."""
        return [*([_native.phase(self.phase)] if self.phase else []), *map(scope_of, self.operations)]

    @property
    def where(self) -> str:
        """Return the function's name and its module's, as messages have them."""
        return f"{'.'.join(self.path)} of {self.module}"

    @property
    def is_script_function(self) -> bool:
        """Tell whether it is a function that the script itself defines, outside classes."""
        return self.module == SCRIPT and len(self.path) == 1 and not self.block

    @property
    def class_of_script(self) -> str:
        """Return the class to wait for in the script: a timer's own, or the one that has the method."""
        return ".".join(self.path if len(self.path) == 1 else self.path[:-1])


def parse(text: str) -> NamedOperation:
    """Read `STAGE=module:function`, `STAGE/OPERATION=module:Class.method`, or either with `(name)` behind it.

    `evaluation` may stand for the stage.

    Raises:
        UsageError: it is something else, or no stage has that name.
    """
    name, _, target = text.partition("=")
    stage, slash, operation = name.partition("/")
    module, _, called = target.partition(":")
    qualname, parenthesis, block = called.partition("(")
    names = [*module.split("."), *qualname.split(".")]
    is_block = len(block) > 1 and block.endswith(")")
    if (slash and not operation) or not all(map(str.isidentifier, names)) or (parenthesis and not is_block):
        raise UsageError(
            f"STAGE=module:function, STAGE/OPERATION=module:Class.method or, of a timer, STAGE=module:function(name) "
            f"was expected, not {text!r}; for example simulation=envs.my:Env.step"
        )
    if stage not in KNOWN:
        raise UsageError(
            f"{stage!r} is no stage; stages are {', '.join(STAGES)}, and {EVALUATION} is the phase of tests"
            f"{nearest(stage, KNOWN)}"
        )
    phase = stage if stage == EVALUATION else ""
    operations = tuple(filter(None, ("" if phase else stage, operation)))
    return NamedOperation(text, operations, module, tuple(qualname.split(".")), block[:-1], phase)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about a name that is not known: which one may have been meant, if any is like it."""
    from difflib import get_close_matches  # not before something is wrong: it takes longer than all of this

    found = get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""


def refusal(named: NamedOperation) -> str | None:
    """Return why this Python cannot follow `named`, None where it can."""
    if named.is_script_function and not CAN_FOLLOW_SCRIPT:
        return (
            f"{named.path[0]} is a function of the script itself, which Python can follow from 3.12 on; "
            f"move it into a module, or decorate it with @rlscope.{_decorator(named)}"
        )
    return None


def _decorator(named: NamedOperation) -> str:
    return f'operation("{named.operations[-1]}")' if named.operations else f'phase("{named.phase}")'


def _why_not_in_script(named: NamedOperation) -> str:
    """Return what is said if the script never has what is named in it."""
    if named.block and len(named.path) == 1:
        return f"the script has no class {named.path[0]}; a timer that is a function must be in a module to be followed"
    return f"the script has no {named.path[0]}"


class NamedOperations:
    """Waits for what the user has named, and opens operations in it; says of each whether it was met."""

    def __init__(self, texts: Iterable[str], hooks: Hooks, imports: ImportHooks) -> None:
        self._named = [parse(text) for text in texts]
        self._hooks = hooks
        self._imports = imports
        self._why_not: dict[str, str | None] = {}
        self._script_functions: ScriptFunctions | None = None

    @property
    def packages(self) -> set[str]:
        """Return the packages in which something is named."""
        return {named.module.partition(".")[0] for named in self._named}

    def install(self) -> None:
        """Begins to wait, or hooks at once what is there already."""
        if self._named:
            self._imports.after_import("torch", know_compiler)
        for named in self._named:
            if named.module != SCRIPT:
                self._why_not[named.text] = f"module {named.module} was never imported"
                self._imports.after_import(named.module, functools.partial(self._on_import, named))
        of_script = [named for named in self._named if named.module == SCRIPT]
        script = sys.modules.get(SCRIPT)
        for named in of_script:
            self._why_not[named.text] = refusal(named) or _why_not_in_script(named)
            if script is not None and named.path[0] in vars(script):
                self._hook(named, vars(script)[named.path[0]], named.path[1:])
        awaited = [named for named in of_script if self._why_not[named.text] is not None]
        if any(not named.is_script_function for named in awaited):
            _native.watch_classes(self._on_class)
        functions: dict[str, list[_native.Scope]] = {}
        for named in awaited:
            if named.is_script_function:
                functions.setdefault(named.path[0], []).extend(named.scopes)
        if functions and CAN_FOLLOW_SCRIPT:
            self._script_functions = ScriptFunctions(functions, self._on_script_function)
            self._script_functions.install()

    def remove(self) -> None:
        """Wait no longer."""
        _native.watch_classes(None)
        if self._script_functions is not None:
            self._script_functions.remove()

    def write(self) -> None:
        """Says in the trace what was met so far: a process may end at any time."""
        if self._named and _native.is_recording():
            _native.write_properties(json.dumps({PROPERTY: self._why_not}))

    def _on_class(self, cls: type) -> None:
        for named in self._named:
            if named.module == SCRIPT and not named.is_script_function and named.class_of_script == cls.__qualname__:
                self._hook(named, cls, named.path[-1:] if len(named.path) > 1 else ())

    def _on_script_function(self, name: str) -> None:
        for named in self._named:
            if named.is_script_function and named.path[0] == name:
                self._note(named, None)

    def _on_import(self, named: NamedOperation, imported: ModuleType) -> None:
        """Find and hook the name in its imported module; a package may have it only once more is imported."""
        module = sys.modules.get(named.module, imported)  # which it may have put in its own place
        first = named.path[0]
        if first in vars(module):
            self._hook(named, vars(module)[first], named.path[1:])
        elif not hasattr(module, "__path__"):
            self._note(named, f"module {named.module} has no {first}")
        else:
            self._note(named, f"package {named.module} has no {first}, or nothing has used it yet")
            for name, inner in list(sys.modules.items()):
                if name.startswith(f"{named.module}.") and inner is not None:
                    self._on_inner_import(named, inner)
            self._imports.after_imports_inside(named.module, functools.partial(self._on_inner_import, named))

    def _on_inner_import(self, named: NamedOperation, inner: ModuleType) -> None:
        """Ask the package for the name only when a module in it has it: asking may import more than is needed."""
        first = named.path[0]
        if self._why_not[named.text] is None or first not in vars(inner):
            return
        found = getattr(sys.modules[named.module], first, None)
        if found is not None:
            self._hook(named, found, named.path[1:])

    def _hook(self, named: NamedOperation, found: Any, path: tuple[str, ...]) -> None:
        """Hooks the function `found`, or the method that `path` leads to from the class `found`."""
        owner: Any = None
        for name in path:
            owner, found = found, inspect.getattr_static(found, name, None)
        function = found.__func__ if isinstance(found, staticmethod | classmethod) else found
        is_function = isinstance(function, FunctionType) and (not path or isinstance(owner, type))
        if function is None:
            self._note(named, f"there is no {named.where}")
        elif is_function or (named.block and isinstance(function, type)):
            try:
                self._follow(named, owner, function)
            except TypeError as error:  # a class may not let anything be replaced
                self._note(named, f"{named.where} cannot be followed: {error}")
        else:
            kind = type(found).__name__
            self._note(named, f"{named.where} is no function or method written in Python, but of type {kind}")

    def _follow(self, named: NamedOperation, owner: type | None, function: Any) -> None:
        name = named.path[-1]
        if named.block:
            self._note(named, f"{named.where} was never called with {named.block!r}")
            scopes = {named.block: tuple(named.scopes)}
            follow_timer(function, owner, name, scopes, self._hooks, functools.partial(self._on_timer, named))
            return
        is_traced = bool(named.operations)  # a function that is compiled is an operation and no phase
        if owner is None:
            hook = FunctionHook(named.module, name, named.operations, is_traced, named.phase)
            self._hooks.follow_function(function, hook)
        else:
            where = named.module, owner.__name__, name
            of_class = MethodHook(*where, named.operations, is_traced=is_traced, is_named=True, phase=named.phase)
            self._hooks.follow_method(owner, of_class)
        self._note(named, None)

    def _on_timer(self, named: NamedOperation, made: Any) -> None:
        """Note that the timer was called with the name; `made` is what the call returned."""
        if self._why_not[named.text] is None:
            return
        if can_be_timed(made):
            self._note(named, None)
        else:
            expected = f"with {named.block!r}, {named.where} returned no context manager and no decorator"
            self._note(named, f"{expected}, but an object of type {type(made).__name__}")

    def _note(self, named: NamedOperation, why_not: str | None) -> None:
        self._why_not[named.text] = why_not
        self.write()
