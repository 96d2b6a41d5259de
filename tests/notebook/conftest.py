"""Tests that need Jupyter, which only `make test-notebook` has."""

from pathlib import Path

import pytest
from asked_for import is_left_unread, keep_what_is_asked_for

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return is_left_unread(HERE, collection_path, config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep_what_is_asked_for(HERE, config, items)
