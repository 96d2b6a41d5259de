"""Tests that need the frameworks' own environments run when they are asked for: `pytest tests/frameworks`."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from asked_for import keep_what_is_asked_for
from framework_runs import record_in
from recording import Recording

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep_what_is_asked_for(HERE, config, items)


@pytest.fixture
def record_pytorch(tmp_path: Path) -> Callable[..., Recording]:
    """record_in for the environment of PyTorch and JAX: takes a program, its arguments, and record_in's options."""
    return functools.partial(record_in, "pytorch", tmp_path / "trace")


@pytest.fixture
def record_tensorflow(tmp_path: Path) -> Callable[..., Recording]:
    """record_in for the environment of TensorFlow."""
    return functools.partial(record_in, "tensorflow", tmp_path / "trace")


@pytest.fixture
def record_dm_control(tmp_path: Path) -> Callable[..., Recording]:
    """record_in for the environment of dm_control."""
    return functools.partial(record_in, "dm_control", tmp_path / "trace")
