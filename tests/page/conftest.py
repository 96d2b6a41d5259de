"""The page in a headless browser, which only `make test-page` asks for: its environment has what drives one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from asked_for import is_asked_for, keep_what_is_asked_for

HERE = Path(__file__).parent
BROWSER = "/usr/bin/chromium-headless-shell"
#: Colours are those of the page, whatever the machine's screen.
ARGUMENTS = ["--no-sandbox", "--force-color-profile=srgb"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without the environment nothing here can be imported."""
    return True if HERE in collection_path.parents and not is_asked_for(HERE, config) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep_what_is_asked_for(HERE, config, items)


@pytest.fixture(scope="session")
def browser() -> Iterator["object"]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield opened
        opened.close()
