"""This file finds the files beside a training script that decide what it does: a change in one repeats its runs."""

import ast
import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

#: An argument such as "slow_drone:SlowDrone-v0", which makes Gymnasium import a module.
MODULE_ARGUMENT = re.compile(r"([A-Za-z_]\w*):")
#: What a module is compiled from, where it is not Python.
COMPILED_FROM = (".c", ".cc", ".cpp", ".cu", ".pyx")
#: What of a package's folder counts.
OF_A_PACKAGE = {".py", ".h", *COMPILED_FROM}


def hash_of_sources(script: Path, arguments: Sequence[str]) -> str:
    """Return a hash of everything that `sources_of` finds."""
    digest = hashlib.sha256()
    for path in sources_of(script, tuple(arguments)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def sources_of(script: Path, arguments: Sequence[str]) -> list[Path]:
    """Return the script and the modules that lie beside it: those that its arguments name, and what any of them
    imports.

    Args:
        script: the training script.
        arguments: its arguments.

    Returns:
        Paths in the order of their names. What is compiled is there by its source: `slow_simulator.cpp`, `cartpole.h`.
    """
    named = [match[1] for argument in arguments if (match := MODULE_ARGUMENT.match(argument))]
    found, ahead = {script}, [script]
    ahead += [path for name in named for path in beside(script.parent, name)]
    while ahead:
        path = ahead.pop()
        found.add(path)
        if path.suffix == ".py":
            imported = (source for name in imports(path.read_text()) for source in beside(script.parent, name))
            ahead += [source for source in imported if source not in found]
    return sorted(found)


def beside(directory: Path, module: str) -> list[Path]:
    """Return the source of a module or package in this directory; nothing if it is not there."""
    candidates = [directory / f"{module}{suffix}" for suffix in (".py", *COMPILED_FROM)]
    of_package = (path for path in (directory / module).rglob("*") if path.suffix in OF_A_PACKAGE)
    return [*(path for path in candidates if path.is_file()), *of_package]


@cache
def imports(source: str) -> tuple[str, ...]:
    """Return the top-level names of the modules that Python source imports, wherever in it."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in imported_modules(ast.parse(source))))


def imported_modules(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of every import statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
