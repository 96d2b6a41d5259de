"""Tests that run only when their folder is named on the command line: they need what `make test` does not."""

from pathlib import Path

import pytest


def keep_what_is_asked_for(folder: Path, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes out the tests of a folder unless it is named, and its slow ones unless `-m` says which are wanted."""
    is_wanted = is_asked_for(folder, config)
    chosen = bool(config.option.markexpr)
    left_out = [
        item
        for item in items
        if folder in item.path.parents and (not is_wanted or (item.get_closest_marker("slow") and not chosen))
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def is_asked_for(folder: Path, config: pytest.Config) -> bool:
    """Whether the command line names the folder, or something in it."""
    words = [Path(word.split("::")[0]).resolve() for word in config.args]
    return any(folder == word or folder in word.parents for word in words)


def is_left_unread(folder: Path, path: Path, config: pytest.Config) -> bool | None:
    """What `pytest_ignore_collect` answers for a folder whose tests cannot be imported outside of its environment."""
    return True if folder in path.parents and not is_asked_for(folder, config) else None
