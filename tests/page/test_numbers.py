"""Numbers have the same texts on the page as in a terminal: thousands of them go through both formatters."""

import math
import random
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest

from rlscope.text.numbers import count, digits, duration, percent, size, span

FORMATTER = files("rlscope.page") / "web" / "format.js"
#: Runs a function of the formatter on each number.
RUN = """async ([source, name, lists]) => {
    const formatter = await import(`data:text/javascript,${encodeURIComponent(source)}`);
    return lists.map((numbers) => formatter[name](...numbers));
}"""
#: Numbers beside which texts change: of digits, units, tenths of a percent and hours.
LIMITS = (1, 1.125, 1.25, 1.5, 2, 2.5, 3.6, 5, 6, 9.5, 9.95, 9.995)
OF_ONE: dict[str, Callable[[float], str]] = {
    "count": count, "digits": digits, "duration": duration, "percent": percent, "size": size,
}  # fmt: skip


def numbers() -> Iterator[float]:
    """Zero, the smallest and the largest, each limit at each power of ten and its neighbours, halves, any others."""
    yield from (0.0, 5e-324, 1.7976931348623157e308, math.inf, math.nan)
    for limit in (float(f"{factor}e{power}") for factor in LIMITS for power in range(-24, 25)):
        yield from (math.nextafter(limit, 0.0), limit, math.nextafter(limit, math.inf))
    generator = random.Random(0)
    yield from (number / 2**power for number in range(1, 200) for power in range(12))
    yield from (generator.uniform(1, 10) * 10.0 ** generator.uniform(-15, 15) for _ in range(5000))
    yield from (float(generator.randrange(10**7)) for _ in range(1000))


@pytest.fixture(scope="module")
def cases() -> list[float]:
    found = list(numbers())
    return [*found, *(-number for number in found)]


@pytest.fixture
def in_javascript(browser: Any) -> Iterator[Callable[..., list[str]]]:
    """Puts lists of numbers into text by a function of the page."""
    page = browser.new_page()
    yield lambda name, lists: page.evaluate(RUN, [FORMATTER.read_text(encoding="utf-8"), name, lists])
    page.close()


@pytest.mark.parametrize("name", OF_ONE)
def test_a_number_has_one_text(name: str, cases: list[float], in_javascript: Callable[..., list[str]]) -> None:
    found = in_javascript(name, [[number] for number in cases])
    expected = [OF_ONE[name](number) for number in cases]
    assert not [(number, text, here) for number, text, here in zip(cases, found, expected, strict=True) if text != here]


def test_two_moments_have_one_text(cases: list[float], in_javascript: Callable[..., list[str]]) -> None:
    moments = [number for number in cases if math.isfinite(number)]
    pairs = list(zip(moments, random.Random(1).sample(moments, len(moments)), strict=True))
    pairs += [(moment, moment + length) for moment, length in pairs if abs(length) < 1e6]
    found = in_javascript("span", [list(pair) for pair in pairs])
    assert not [(pair, text) for pair, text in zip(pairs, found, strict=True) if text != span(*pair)]
