"""A change: a file of `changes/`, what it says of itself, and what it is given in a process of a trial.

Such a file has

- a docstring, whose first line says what the change does;
- `ALTERS`, what is no longer as it was;
- `IS_OF_WALL`, whether it is waiting that changes, so that wall time is measured and not processor time;
- `ENVIRONMENT`, variables that the command is started with, if any;
- `EXCLUDES`, names of changes that take it back, if any;
- `prepare(making)`, which puts hooks on modules that the program will import;
- `look(making)`, which is called at the end of the measured part, if it is there.

Both say with `making.met` what the change alters, and the line that keeps it. Where a change meets nothing it is not in
force. In the first run, of the unchanged program, `making.is_on` is false: then nothing is altered, but what a change
would meet is noted, and whoever meets nothing need not be tried.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from rlscope.record.declared.blocks import follow_method
from rlscope.record.replacements import Replacements

if TYPE_CHECKING:
    from rlscope.record.import_hooks import ImportHooks

Function = Callable[..., Any]
#: From what the program calls to what it calls with the change.
Wrap = Callable[[Function], Function]
#: Is told of a change, what it met and the line that keeps it.
Note = Callable[[str, str, str], None]

CHANGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "changes")
#: Threads come first: beside processes that take each other's cores everything else is noise.
FIRST = "threads"


class Change:
    """A change as its file declares it.

    Attributes:
        name: The file's name, with hyphens.
        title: What it does.
        alters: What is no longer as it was.
        is_of_wall: Whether wall time tells what it brings.
        environment: Variables that the command is started with.
        excludes: Names of changes that take it back.
    """

    def __init__(self, name: str) -> None:
        module = module_of(name)
        self.name = name
        self.title = (module.__doc__ or "").partition("\n")[0].rstrip(".")
        self.alters: str = module.ALTERS
        self.is_of_wall: bool = module.IS_OF_WALL
        self.environment: Mapping[str, str] = getattr(module, "ENVIRONMENT", {})
        self.excludes: tuple[str, ...] = getattr(module, "EXCLUDES", ())


def change_names() -> tuple[str, ...]:
    """Return the names of all changes in the order in which they are tried."""
    files = (file for file in os.listdir(CHANGES) if file.endswith(".py") and not file.startswith("_"))
    return tuple(sorted((file[:-3].replace("_", "-") for file in files), key=lambda name: (name != FIRST, name)))


def module_of(name: str) -> ModuleType:
    """Return the file of a change."""
    return importlib.import_module(f"rlscope.trial.changes.{name.replace('-', '_')}")


class Making:
    """The file of a change is given this in a process.

    Attributes:
        is_on: Whether the change is to be made, or what it would alter only noted.
    """

    def __init__(self, name: str, is_on: bool, hooks: ImportHooks, note: Note) -> None:
        self.is_on = is_on
        self._name = name
        self._hooks = hooks
        self._note = note
        self._replacements = Replacements()

    def after_import(self, module: str, callback: Callable[[ModuleType], None]) -> None:
        """Call `callback(module)` after the program has imported it."""
        self._hooks.after_import(module, callback)

    def met(self, what: str, keep: str) -> None:
        """Note that the change alters `what`, and that the line `keep` makes it last."""
        self._note(self._name, what, keep)

    def replace(self, owner: type | ModuleType, name: str, replacement: Wrap) -> None:
        """Put `replacement(original)` in the place of a function of a module or class."""
        self._replacements.replace(owner, name, replacement)

    def replace_method(self, owner: type, name: str, replacement: Wrap) -> None:
        """Put `replacement(method)` in the place of a method, and of those with which subclasses replace it."""
        follow_method(owner, name, replacement, self._replacements)

    def make_instead(self, owner: Any, instead: Function) -> None:
        """Have what `instead` returns where the program makes an object of this class, unless that is None."""

        def new(cls: type, *args: Any, **kwargs: Any) -> Any:
            # Without arguments it is copied, or unpickled.
            made = instead(*args, **kwargs) if cls is owner and (args or kwargs) else None
            return object.__new__(cls) if made is None else made

        self._replacements.put(owner, "__new__", vars(owner).get("__new__"), new)
