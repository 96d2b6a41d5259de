"""Tests that run only when their folder is named on the command line: they need what `make test` does not."""

from pathlib import Path

import pytest


def is_asked_for(folder: Path, config: pytest.Config) -> bool:
    """Whether the command line names the folder, or something in it."""
    words = [Path(word.split("::")[0]).resolve() for word in config.args]
    return any(folder == word or folder in word.parents for word in words)


def leave_out(left_out: list[pytest.Item], config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes tests out of those that were collected."""
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
