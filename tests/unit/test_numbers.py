"""How numbers are put into text: rules that hold for every number, and the text that stands for some."""

import math
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlscope.text.numbers import (
    BYTES,
    MOST_DECIMALS,
    PREFIXES,
    UNITS,
    change,
    count,
    digits,
    digits_ends,
    duration,
    duration_ends,
    in_percent,
    percent,
    percent_ends,
    prefixed,
    size,
    span,
    unit_of,
)

NUMBER = r"-?(?:0|[1-9]\d{0,2}(?:,\d{3})*)(?:\.\d*[1-9])?"
WHOLE = st.integers(-(10**9), 10**9)
NUMBERS = st.floats(-1e300, 1e300) | st.floats(-1e6, 1e6) | st.floats(-1.0, 1.0) | WHOLE
#: The largest part of a number that three digits leave out: 1.004999 is 1. The rest is for what floats leave out.
ROUNDED, EXACT = 0.005 * (1 + 1e-9), 1e-9
SECONDS_OF = {unit.name: 1 / unit.per_second for unit in UNITS}
BYTES_OF = {name: 1024.0**power for power, name in enumerate(BYTES)}
THOUSANDS = {prefix.strip(): 1000.0**power for power, prefix in enumerate(PREFIXES)}


def parsed(text: str, units: dict[str, float]) -> float:
    """The number that a reader takes from a text, which must be one number and one unit."""
    found = re.fullmatch(rf"(?:< |> |\+)?({NUMBER}) ?(\D*)", text)
    assert found, text
    return float(found[1].replace(",", "")) * units[found[2]]


def of_digits(value: float) -> float:
    return ROUNDED * abs(value) + 0.5 / 10**MOST_DECIMALS


def of_percent(value: float) -> float:
    return (0.5 if abs(value) >= 9.95 else 0.05) + EXACT * abs(value)


def of_shares(value: float) -> float:
    """What is below half a tenth of a percent is said to be below a tenth."""
    return 0.1 if abs(value) < 0.05 else of_percent(value)


#: A kind of number: how it is put into text, its units, and how much of it may be lost.
KINDS: dict[str, tuple[Callable[[float], str], dict[str, float], Callable[[float], float]]] = {
    "digits": (digits, {"": 1.0}, of_digits),
    "count": (count, {"": 1.0}, lambda value: 0.5 + EXACT * abs(value)),
    "duration": (duration, SECONDS_OF, of_digits),
    "in_percent": (in_percent, {"": 1.0}, of_shares),
    "percent": (percent, {"%": 0.01}, lambda value: of_shares(100 * value) / 100),
    "change": (change, {"%": 1.0}, of_percent),
    "size": (size, BYTES_OF, of_digits),
    "prefixed": (prefixed, THOUSANDS, of_digits),
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@EVERY_KIND
@settings(deadline=None)
@given(value=NUMBERS)
def test_a_text_is_one_plain_number_that_says_how_much_it_is(kind: str, value: float) -> None:
    form, units, lost = KINDS[kind]
    text = form(value)
    assert not re.match(r"-0(?![.\d])", text), text
    assert abs(parsed(text, units) - value) <= lost(value), text


@EVERY_KIND
@settings(deadline=None)
@given(one=NUMBERS, other=NUMBERS, share=st.floats(0.99, 1.01))
def test_a_larger_number_never_reads_as_a_smaller_one(kind: str, one: float, other: float, share: float) -> None:
    form, units, _ = KINDS[kind]
    for less, more in (sorted((one, other)), sorted((one, share * one))):
        least, most = (parsed(form(value), units) for value in (less, more))
        assert least <= most + EXACT * abs(most), (form(less), form(more))


@EVERY_KIND
def test_beside_each_limit_a_number_reads_as_beside_it(kind: str) -> None:
    form, units, lost = KINDS[kind]
    for limit in (float(f"{factor}e{power}") for factor in (1, 5, 9.95, 9.995, 6, 3.6) for power in range(-12, 13)):
        values = [math.nextafter(limit, 0.0), limit, math.nextafter(limit, math.inf)]
        read = [parsed(form(value), units) for value in values]
        assert all(here <= there * (1 + EXACT) for here, there in pairwise(read)), limit
        assert all(abs(found - value) <= lost(value) for found, value in zip(read, values, strict=True)), limit


@settings(deadline=None)
@given(seconds=st.floats(-5999.0, 5999.0))
def test_a_time_is_never_a_part_of_one_of_a_unit_nor_a_thousand_of_one_that_has_a_larger(seconds: float) -> None:
    number, unit = duration(seconds).split(" ")
    size_of_it = abs(float(number.replace(",", "")))
    assert size_of_it >= 1 or unit == "ns" or (size_of_it, unit) == (0, "s")
    assert size_of_it < 1000 or unit == "s"


@settings(deadline=None)
@given(value=NUMBERS)
def test_one_number_has_one_text_in_every_kind(value: float) -> None:
    text = digits(value)
    assert digits_ends(value, value) == f"({text} to {text})"
    unit = unit_of(value)
    assert duration(value) == f"{unit.digits(value)} {unit.name}"
    assert duration_ends(value, value, value) == f"({unit.digits(value)} to {duration(value)})"
    if 1 <= abs(value) < 999:
        assert {duration(value), f"{size(value)[: -len('bytes')]}s", f"{prefixed(value)} s"} == {f"{text} s"}
    if abs(value) >= 0.05:
        tenths = in_percent(value)
        assert change(value) == f"{'+' if value > 0 else ''}{tenths} %"
        assert percent_ends(value, value) == f"({tenths} to {tenths} %)"


@settings(deadline=None)
@given(number=WHOLE)
def test_a_count_is_the_number_with_its_thousands_grouped(number: int) -> None:
    assert count(number) == digits(number) == count(float(number)) == f"{number:,}"


@settings(deadline=None)
@given(ends=st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).map(sorted))
def test_moments_that_differ_by_a_nanosecond_or_more_are_told_apart(ends: list[float]) -> None:
    found = re.fullmatch(rf"({NUMBER}) to ({NUMBER}) s", span(*ends))
    assert found
    start, end = (float(text.replace(",", "")) for text in found.groups())
    assert abs((end - start) - (ends[1] - ends[0])) <= 0.01 * (ends[1] - ends[0]) + 1e-9


def test_what_is_no_finite_number_has_no_text() -> None:
    assert {form(value) for form, _, _ in KINDS.values() for value in (math.nan, math.inf, -math.inf)} == {""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (duration(0.261161), "261 ms"), (duration(2.0499), "2.05 s"), (duration(2.0), "2 s"),
        (duration(1234.4), "1,234 s"), (duration(44_280), "12.3 h"), (duration(0), "0 s"),
        (duration(-1.2e-5), "-12 µs"), (duration(0.9996), "1 s"), (duration(1e-30), "0 s"),
        (digits(0.0000000123), "0.000000012"), (digits(0.125), "0.125"), (digits(-2.5e-12), "0"),
        (percent(0.561), "56 %"), (percent(0.0561), "5.6 %"), (percent(0.0003), "< 0.1 %"), (percent(0), "0 %"),
        (percent(-0.0561), "-5.6 %"), (percent(-0.0003), "> -0.1 %"), (percent(0.9996), "100 %"),
        (change(2.08), "+2.1 %"), (change(-9.6e-9), "0 %"), (percent_ends(-0.5, 4.7), "(-0.5 to 4.7 %)"),
        (duration_ends(0.261, 0.25, 1.02), "(250 to 1,020 ms)"), (duration_ends(0, -0.005, 0.005), "(-5 to 5 ms)"),
        (size(1_572_864), "1.5 MiB"), (size(512), "512 bytes"), (size(1000), "0.977 KiB"),
        (size(1 << 60), "1,048,576 TiB"),
        (prefixed(12_345), "12.3 k"), (prefixed(999.6), "1 k"),
        (span(2.70123, 2.8179), "2.701 to 2.818 s"), (span(0, 2.0451), "0 to 2.05 s"),
    ],
)  # fmt: skip
def test_examples(text: str, expected: str) -> None:
    assert text == expected


def test_halves_are_rounded_away_from_zero() -> None:
    assert [count(value) for value in (0.5, 1.5, 2.5, -0.5, -2.5)] == ["1", "2", "3", "-1", "-3"]
