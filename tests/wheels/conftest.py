"""The wheels and the source package in dist/: `make test-wheels` makes them first, and alone runs these tests."""

from pathlib import Path

import pytest
from asked_for import keep_what_is_asked_for

HERE = Path(__file__).parent
DIST = HERE.parents[1] / "dist"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep_what_is_asked_for(HERE, config, items)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "wheel" in metafunc.fixturenames:
        wheels = sorted(DIST.glob("rlscope-*.whl"))
        metafunc.parametrize("wheel", wheels, ids=[wheel.name.split("-")[2] for wheel in wheels])


@pytest.fixture(scope="session")
def source_package() -> Path:
    (package,) = DIST.glob("rlscope-*.tar.gz")
    return package
