"""This file reads which operations the user names: on the command line, and in a file of the project."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rlscope.errors import UsageError

OWN_FILE = "rlscope.toml"
PROJECT_FILE = "pyproject.toml"
TABLE = "operations"


def named_operations(given: Iterable[str]) -> tuple[str, ...]:
    """Return what the project's file names, then what `--operation` was given, each once.

    Raises:
        UsageError: one of them is not written as it should be, or this Python cannot follow it.
    """
    named = [*_in_project_file(Path.cwd()), *(_checked(text, "--operation") for text in given)]
    return tuple(dict.fromkeys(named))


def _checked(text: str, where: str) -> str:
    # It takes longer to load than a command to start, and most records name nothing.
    from rlscope.record.undeclared.named_operations import parse, refusal

    try:
        named = parse(text)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if (refused := refusal(named)) is not None:
        raise UsageError(f"{where}: {refused}")
    return text


def _in_project_file(directory: Path) -> list[str]:
    """Return the operations of the first directory that has such a file, from `directory` upwards to the one that
    holds the repository.
    """
    for folder in (directory, *directory.parents):
        own, project = folder / OWN_FILE, folder / PROJECT_FILE
        if own.is_file():
            return _operations(own, _read(own), "")
        if project.is_file():
            tools = _read(project).get("tool")
            if isinstance(tools, dict) and "rlscope" in tools:
                return _operations(project, tools["rlscope"], "tool.rlscope.")
        if (folder / ".git").exists():
            break
    return []


def _read(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        contents: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # of TOML, and of UTF-8
        raise UsageError(f"{path} is not TOML: {error}") from error
    return contents


def _operations(path: Path, table: Any, prefix: str) -> list[str]:
    """Return the operations of a file's table, each as `--operation` would take it."""
    _check_table(path, table, prefix.rstrip("."))
    for key in table:
        if key != TABLE:
            from rlscope.record.undeclared.named_operations import nearest

            raise UsageError(f"{path}: {prefix}{key} is not known; {prefix}{TABLE} is{nearest(key, (TABLE,))}")
    named = table.get(TABLE, {})
    _check_table(path, named, f"{prefix}{TABLE}")
    return [
        _checked(f"{key}={target}", f'{path}, key "{key}" of [{prefix}{TABLE}]')
        for key, value in named.items()
        for target in _targets(path, f'"{key}" of [{prefix}{TABLE}]', value)
    ]


def _check_table(path: Path, value: object, name: str) -> None:
    if not isinstance(value, dict):
        raise UsageError(f"{path}: a table [{name}] was expected, not {value!r}")


def _targets(path: Path, key: str, value: object) -> list[str]:
    targets = [value] if isinstance(value, str) else value
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise UsageError(f'{path}, key {key}: "module:function" or a list of such was expected, not {value!r}')
    return targets
