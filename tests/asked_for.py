"""Tests that run only when asked for: in a folder that needs what `make test` does not, or as slow ones."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest


def keep_what_is_asked_for(folder: Path, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes out the tests of a folder unless it is named."""
    if not is_asked_for(folder, config):
        leave_out([item for item in items if folder in item.path.parents], config, items)


def leave_out_slow(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes out the slow tests unless `-m` says which are wanted."""
    if not config.option.markexpr:
        leave_out([item for item in items if item.get_closest_marker("slow")], config, items)


def leave_out(left_out: list[pytest.Item], config: pytest.Config, items: list[pytest.Item]) -> None:
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def is_asked_for(folder: Path, config: pytest.Config) -> bool:
    """Whether the command line names the folder, or something in it."""
    words = [Path(word.split("::")[0]).resolve() for word in config.args]
    return any(folder == word or folder in word.parents for word in words)


def with_slow(values: Iterable[object], slow: Collection[object]) -> list[Any]:
    """The values of a parameter, of which those that take long are tested once a week."""
    return [pytest.param(value, marks=[pytest.mark.slow] if value in slow else []) for value in values]


def is_left_unread(folder: Path, path: Path, config: pytest.Config) -> bool | None:
    """What `pytest_ignore_collect` answers for a folder whose tests cannot be imported outside of its environment."""
    return True if folder in path.parents and not is_asked_for(folder, config) else None
