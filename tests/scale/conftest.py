"""Hundreds of processes at once: minutes, and gigabytes of memory, that only `make test-scale` asks for."""

from pathlib import Path

import pytest
from asked_for import is_asked_for, leave_out

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not is_asked_for(HERE, config):
        leave_out([item for item in items if HERE in item.path.parents], config, items)
