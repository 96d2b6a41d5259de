"""Pythons that cannot be recorded, because they are told not to read the variables that recording starts by."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType
    from typing import Any, TypeAlias

    Text: TypeAlias = str | bytes | os.PathLike[Any]
    Replace: TypeAlias = Callable[[Any, str, Callable[[Any], Any]], None]

_PYTHONS = ("python", "pypy")
#: What each option keeps a Python from.
_OPTIONS = {
    "E": "it ignores PYTHONPATH",
    "I": "it ignores PYTHONPATH",
    "S": "it does not import sitecustomize",
}
_WITH_ARGUMENT = "WX"
_LAST = "cm"  # what follows is the program's


def why_unrecordable(words: Sequence[Text], executables: Iterable[Text] = ()) -> str | None:
    """Return why the process that `words` start is not recorded; None where it is, or is no Python.

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
    name = os.path.basename(path).rstrip("0123456789.")
    return name in _PYTHONS or (bool(sys.executable) and os.path.realpath(path) == os.path.realpath(sys.executable))


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

    def watching_fork_exec(self, name: str) -> Callable[[ModuleType], None]:
        """Watches `_posixsubprocess.fork_exec` in the modules that it is given, which know it by `name`."""

        def watch(module: ModuleType) -> None:
            function = getattr(module, name, None)
            if function is None:
                return
            # A module that imports the name from another one may have been given what stands in its place there.
            setattr(module, name, getattr(function, "__wrapped__", function))
            self._replace(module, name, self._noting_fork_exec)

        return watch

    def _noting_exec(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def exec_program(path: Any, argv: Any, *rest: Any, **options: Any) -> Any:
            self._note(os.getpid(), argv, [path])
            return original(path, argv, *rest, **options)

        return _as(original, exec_program)

    def _noting_spawn(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def spawn(path: Any, argv: Any, *rest: Any, **options: Any) -> Any:
            pid = original(path, argv, *rest, **options)
            self._note(pid, argv, [path], is_started=True)
            return pid

        return _as(original, spawn)

    def _noting_fork_exec(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def fork_exec(argv: Any, executables: Any, *rest: Any) -> Any:
            pid = original(argv, executables, *rest)
            self._note(pid, argv, executables)
            return pid

        return _as(original, fork_exec)

    def _note(self, pid: int, argv: Sequence[Text], executables: Sequence[Text], is_started: bool = False) -> None:
        try:
            if not is_started and not any(os.access(path, os.X_OK) for path in executables):
                return  # there is nothing to start
            reason = why_unrecordable(argv, executables)
            if reason is not None:
                from rlscope.trace.manifest import note_unrecorded

                note_unrecorded(self._directory, reason, pid)
        except Exception:  # what is wrong with the arguments is the original's to say
            return


def _as(original: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    """Return `replacement`, which then looks like `original`, as by functools.wraps."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(replacement, name, getattr(original, name))
    vars(replacement)["__wrapped__"] = original
    return replacement
