"""Pythons that cannot be recorded, because they are told not to read the variables that recording starts by."""

import contextlib
import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from rlscope.trace.manifest import note_unrecorded

_PYTHON = re.compile(r"(python|pypy)[\d.]*")
#: What each option keeps a Python from.
_OPTIONS = {
    "E": "it ignores PYTHONPATH",
    "I": "it ignores PYTHONPATH",
    "S": "it does not import sitecustomize",
}
_WITH_ARGUMENT = "WX"
_LAST = "cm"  # what follows is the program's

Text = str | bytes | os.PathLike[Any]
Replace = Callable[[Any, str, Callable[[Any], Any]], None]


def why_unrecordable(words: Sequence[Text], executables: Iterable[Text] = ()) -> str | None:
    """Why the process that `words` start is not recorded; None where it is, or is no Python.

    Args:
        words: The command, its name first.
        executables: Where the program is looked for, if not by that name.

    For example, `python -uS train.py` is not recorded because of `-S`, but `python train.py -S` is.
    """
    texts = [os.fsdecode(word) for word in words]
    if not texts or not any(map(_is_python, [texts[0], *map(os.fsdecode, executables)])):
        return None
    option = _option_in_the_way(texts[1:])
    if option is None:
        return None
    return f"Python was started with -{option}, with which {_OPTIONS[option]}; start it without, so that it is recorded"


def _is_python(path: str) -> bool:
    is_named_so = _PYTHON.fullmatch(os.path.basename(path)) is not None
    return is_named_so or (bool(sys.executable) and os.path.realpath(path) == os.path.realpath(sys.executable))


def _option_in_the_way(arguments: Iterable[str]) -> str | None:
    rest = iter(arguments)
    for argument in rest:
        if argument in ("-", "--") or not argument.startswith("-"):
            return None
        if argument.startswith("--"):
            if argument == "--check-hash-based-pycs":
                next(rest, None)
            continue
        for place, letter in enumerate(argument[1:], start=1):
            if letter in _OPTIONS:
                return letter
            if letter in _LAST:
                return None
            if letter in _WITH_ARGUMENT:
                if place == len(argument) - 1:
                    next(rest, None)
                break
    return None


class UnrecordableChildren:
    """Notes in the trace which children of this process cannot be recorded, where they are started."""

    def __init__(self, directory: Any, replace: Replace) -> None:
        self._directory = directory
        self._replace = replace

    def watch_os(self, module: ModuleType) -> None:
        """`os`: what replaces this process by another program, or spawns one without `subprocess`."""
        for name in ("execv", "execve"):
            self._replace(module, name, self._noting_exec)
        module.supports_fd.add(module.execve)
        for name in ("posix_spawn", "posix_spawnp"):
            self._replace(module, name, self._noting_spawn)

    def watch_fork_exec(self, module: ModuleType, name: str) -> None:
        """`_posixsubprocess.fork_exec`, under the name that `module` knows it by."""
        function = getattr(module, name, None)
        if function is None:
            return
        # A module that imports the name from another one may have been given what stands in its place there.
        setattr(module, name, getattr(function, "__wrapped__", function))
        self._replace(module, name, self._noting_fork_exec)

    def _noting_exec(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def exec_program(path: Any, argv: Any, *rest: Any, **options: Any) -> Any:
            with contextlib.suppress(Exception):  # what is wrong with the arguments is the original's to say
                if os.access(path, os.X_OK):
                    self._note(os.getpid(), argv, [path])
            return original(path, argv, *rest, **options)

        return exec_program

    def _noting_spawn(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def spawn(path: Any, argv: Any, *rest: Any, **options: Any) -> Any:
            pid = original(path, argv, *rest, **options)
            self._note(pid, argv, [path])
            return pid

        return spawn

    def _noting_fork_exec(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def fork_exec(argv: Any, executables: Any, *rest: Any) -> Any:
            pid = original(argv, executables, *rest)
            with contextlib.suppress(Exception):
                if any(os.access(path, os.X_OK) for path in executables):  # else there was nothing to start
                    self._note(pid, argv, executables)
            return pid

        return fork_exec

    def _note(self, pid: int, argv: Sequence[Text], executables: Iterable[Text]) -> None:
        with contextlib.suppress(Exception):  # the program goes on, whatever its arguments are
            reason = why_unrecordable(argv, executables)
            if reason is not None:
                note_unrecorded(self._directory, reason, pid)
