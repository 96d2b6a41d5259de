"""The page in a headless browser, which only `make test-page` asks for: its environment has what drives one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asked_for import is_left_unread, keep_what_is_asked_for

HERE = Path(__file__).parent
BROWSER = "/usr/bin/chromium-headless-shell"
#: Colours are those of the page, whatever the machine's screen.
ARGUMENTS = ["--no-sandbox", "--force-color-profile=srgb"]
VIEW = {"width": 1400, "height": 1000}
#: What the page's policy refuses, noted before any of its scripts runs.
NOTE_VIOLATIONS = "addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective))"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return is_left_unread(HERE, collection_path, config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keep_what_is_asked_for(HERE, config, items)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a page, given as text or as a file with pictures beside it.

    At its end the test fails if the page asked for anything else or complained of anything.
    """
    contexts: list[Any] = []
    wrong: list[str] = []
    own: list[str] = []

    def shown(found: str | Path, address: str = "", **options: Any) -> Any:
        path = found if isinstance(found, Path) else tmp_path / "page.html"
        if isinstance(found, Path):
            own.extend(picture.as_uri() for picture in path.parent.rglob("*.png"))
        else:
            path.write_text(found)
        own.append(path.as_uri())
        context = browser.new_context(**{"viewport": VIEW, "offline": True, **options})
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(NOTE_VIOLATIONS)
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("request", lambda request: None if is_own(request.url) else wrong.append(f"request: {request.url}"))
        page.goto(path.as_uri() + address)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready=yes]", timeout=10_000)
        return page

    def is_own(url: str) -> bool:
        return url.split("#")[0] in own or url.startswith("blob:")

    yield shown
    for context in contexts:
        context.close()
    assert not wrong
