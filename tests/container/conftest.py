"""The container, on the engine of `docker info`. Only `make test-container` runs these; without an engine they fail.

RLSCOPE_TEST_BASE_IMAGE names the base image, for an engine that reaches no registry; RLSCOPE_TEST_WHEELS a folder of
wheels.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from asked_for import keep_what_is_asked_for
from container_runs import BUILD_S, Checkout, base_and_wheels, containers, copy_checkout, docker, remove_project
from engine_relay import Relay

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep_what_is_asked_for(HERE, config, items)


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    found = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"these tests need a container engine: {found.stderr}"
    assert not containers(), "end the containers of rlscope first: python run_docker.py --stop"


@pytest.fixture(scope="session")
def checkout(engine: None) -> Iterator[Checkout]:
    """As a fresh clone, with what is not committed yet; the cpu image has been built from it."""
    with tempfile.TemporaryDirectory(prefix="rlscope-checkout-", ignore_cleanup_errors=True) as folder:
        checkout = Checkout(Path(folder, "checkout"))
        copy_checkout(checkout.folder)
        finished = checkout.call("--flavour", "cpu", *base_and_wheels(), "--build", timeout=BUILD_S)
        assert finished.returncode == 0, finished.stderr
        yield checkout
        remove_project(checkout)


@pytest.fixture
def small(engine: None) -> Iterator[Checkout]:
    """A checkout whose image is built in seconds: it has a shell and an entrypoint, and nothing of ours."""
    with tempfile.TemporaryDirectory(prefix="rlscope-small-", ignore_cleanup_errors=True) as folder:
        checkout = Checkout(Path(folder, "checkout"), {"RLSCOPE_TAG": "small"})
        copy_checkout(checkout.folder, "run_docker.py", "container", "rlscope", "dockerfiles", "requirements")
        checkout.dockerfile()
        yield checkout
        remove_project(checkout)
    subprocess.run(["docker", "image", "rm", "--force", "rlscope:small"], capture_output=True, check=False)


@pytest.fixture
def relay() -> Iterator[Relay]:
    with tempfile.TemporaryDirectory(prefix="rlscope-relay-") as folder:
        os.chmod(folder, 0o755)
        relay = Relay(Path(folder))
        yield relay
        relay.fail()


@pytest.fixture(autouse=True)
def nothing_is_left(engine: None) -> Iterator[None]:
    yield
    left = containers()
    for name in left:
        docker("rm", "--force", name)
    assert not left, f"the test left {left}"
