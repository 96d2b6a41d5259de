"""Operations that the user names from outside the program: which function of which module is which stage."""

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
from rlscope.model import STAGES
from rlscope.record.declared.hooks import Hooks, scope_of
from rlscope.record.declared.kinds import FunctionHook, MethodHook
from rlscope.record.declared.tracing import know_compiler
from rlscope.record.import_hooks import ImportHooks
from rlscope.record.undeclared.script_functions import CAN_FOLLOW_SCRIPT, ScriptFunctions

SCRIPT = "__main__"
#: The property of a process that says of each named operation why it was not met there, null where it was.
PROPERTY = "named_operations"


@dataclass(frozen=True)
class NamedOperation:
    """A function, or a method of a class and of its subclasses, that is an operation.

    Attributes:
        text: What the user wrote.
        operations: A stage, or a stage and an operation inside it.
        module: The module in which the function or class is found.
        path: The names that lead to it there: ("step",) or ("Env", "step").
    """

    text: str
    operations: tuple[str, ...]
    module: str
    path: tuple[str, ...]

    @property
    def is_script_function(self) -> bool:
        """Tell whether it is a function that the script itself defines, outside classes."""
        return self.module == SCRIPT and len(self.path) == 1


def parse(text: str) -> NamedOperation:
    """Read `STAGE=module:function`, or `STAGE/OPERATION=module:Class.method`.

    Raises:
        UsageError: it is something else, or no stage has that name.
    """
    name, separator, target = text.rpartition("=")
    stage, slash, operation = name.partition("/")
    module, colon, qualname = target.partition(":")
    names = [*module.split("."), *qualname.split(".")]
    if not separator or not colon or (slash and not operation) or not all(map(str.isidentifier, names)):
        raise UsageError(
            f"STAGE=module:function or STAGE/OPERATION=module:Class.method was expected, not {text!r}; "
            "for example simulation=envs.my:Env.step"
        )
    if stage not in STAGES:
        raise UsageError(f"{stage!r} is no stage; stages are {', '.join(STAGES)}{nearest(stage, STAGES)}")
    return NamedOperation(text, (stage, operation) if operation else (stage,), module, tuple(qualname.split(".")))


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
            f'move it into a module, or decorate it with @rlscope.operation("{named.operations[-1]}")'
        )
    return None


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
            self._why_not[named.text] = refusal(named) or f"the script has no {named.path[0]}"
            if script is not None and named.path[0] in vars(script):
                self._hook(named, vars(script)[named.path[0]], named.path[1:])
        awaited = [named for named in of_script if self._why_not[named.text] is not None]
        if any(not named.is_script_function for named in awaited):
            _native.watch_classes(self._on_class)
        functions: dict[str, list[_native.Scope]] = {}
        for named in awaited:
            if named.is_script_function:
                functions.setdefault(named.path[0], []).extend(map(scope_of, named.operations))
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
            if named.module == SCRIPT and ".".join(named.path[:-1]) == cls.__qualname__:
                self._hook(named, cls, named.path[-1:])

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
        where = f"{'.'.join(named.path)} of {named.module}"
        if function is None:
            self._note(named, f"there is no {where}")
        elif not isinstance(function, FunctionType) or (path and not isinstance(owner, type)):
            self._note(named, f"{where} is no function or method written in Python, but of type {type(found).__name__}")
        else:
            try:
                self._follow(named, owner, function)
            except TypeError as error:  # a class may not let anything be replaced
                self._note(named, f"{where} cannot be followed: {error}")

    def _follow(self, named: NamedOperation, owner: type | None, function: FunctionType) -> None:
        name, operations = named.path[-1], named.operations
        if owner is None:
            self._hooks.follow_function(function, FunctionHook(named.module, name, operations, is_traced=True))
        else:
            hook = MethodHook(named.module, owner.__name__, name, operations, is_traced=True, is_named=True)
            self._hooks.follow_method(owner, hook)
        self._note(named, None)

    def _note(self, named: NamedOperation, why_not: str | None) -> None:
        self._why_not[named.text] = why_not
        self.write()
