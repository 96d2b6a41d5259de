"""Numbers as people read them: the same number in the same unit has one text, wherever it stands.

The rule that all share (`digits`): three significant digits, and all that stand before the point; no more than nine
behind it, for seconds are whole nanoseconds; no zeros at the end. Halves are rounded away from zero. There is never an
exponent and never "-0"; thousands are grouped. What is no finite number has an empty text.

    0.2611 -> "0.261"    2.0 -> "2"    56.44 -> "56.4"    1234.5 -> "1,235"    0.0000000123 -> "0.000000012"

| of | function | examples |
|---|---|---|
| counts: all digits | `count` | "7", "1,234,567" |
| times, in the unit in which they are 1 to 999; up to 6,000 s, then in hours | `duration` | "261 ms", "1.67 h" |
| cells of a column whose head names the unit, and factors | `digits` | "0.261" below "seconds", "1.67 times as fast" |
| two moments: as many digits as tell them apart | `span` | "2.701 to 2.818 s" |
| shares: with a tenth below 10 %; what is there is at least "< 0.1 %" | `percent` | "5.6 %", "56 %" |
| changes in percent: likewise, with a sign; less than half a tenth is nothing | `change` | "+2.1 %", "-12 %", "0 %" |
| bytes, in units of 1,024 | `size` | "512 bytes", "1.5 MiB" |
| rates and counters that are large, in thousands | `prefixed` | "12.3 k", "1.23 M" |

The ends of an interval follow its number, in the same unit: "261 ms (250 to 1,020 ms)", "+2.1 % (-0.5 to 4.7 %)"
(`duration_ends`, `percent_ends`, `digits_ends`). `rlscope/page/web/format.js` follows the same rules; a test
compares both.
"""

import math
from typing import NamedTuple

#: More are not shown behind the point.
MOST_DECIMALS = 9
#: From here on three digits make 1,000, for which there is a larger unit.
ROUNDED_UP = 999.5
#: Seconds are shown in hours from here on.
HOURS_FROM_S = 6000
#: Of the whole; what is less is rounded to no tenth of a percent.
LEAST_TENTH = 0.05


class Unit(NamedTuple):
    """A unit of time: its name, how many a second has, and from how many of it on another one is larger and better."""

    name: str
    per_second: float
    below: float

    def digits(self, seconds: float) -> str:
        """Return a time as a number of this unit."""
        value = seconds * self.per_second
        return digits(math.copysign(1, value) if ROUNDED_UP / 1000 < abs(value) < 1 else value)


UNITS = (
    Unit("ns", 1e9, ROUNDED_UP), Unit("µs", 1e6, ROUNDED_UP), Unit("ms", 1e3, ROUNDED_UP),
    Unit("s", 1.0, HOURS_FROM_S), Unit("h", 1 / 3600, math.inf),
)  # fmt: skip
SECONDS = UNITS[3]
BYTES = ("bytes", "KiB", "MiB", "GiB", "TiB")
PREFIXES = ("", " k", " M", " G", " T")


def digits(value: float) -> str:
    """Return three significant digits, and all before the point: "0.261", "1,235"."""
    return _fixed(value, _decimals(value))


def digits_ends(low: float, high: float) -> str:
    """Return the ends of an interval that follows a number: "(1.98 to 2.12)"."""
    return f"({digits(low)} to {digits(high)})"


def count(number: float) -> str:
    """Return all digits: "1,234,567"."""
    return _fixed(number, 0)


def duration(seconds: float) -> str:
    """Return a time: "261 ms", "2.05 s", "1,234 s", "1.67 h"."""
    unit = unit_of(seconds)
    return _with_unit(unit.digits(seconds), f" {unit.name}")


def duration_ends(seconds: float, low_s: float, high_s: float) -> str:
    """Return the ends of the interval that follows a time, in its unit: "(250 to 1,020 ms)"."""
    unit = unit_of(seconds or max(abs(low_s), abs(high_s)))
    return f"({unit.digits(low_s)} to {unit.digits(high_s)} {unit.name})"


def unit_of(seconds: float) -> Unit:
    """Return the unit in which a time of this length is easily read."""
    length = abs(seconds)
    if UNITS[0].digits(length) == "0":
        return SECONDS
    return next((unit for unit in UNITS if length * unit.per_second < unit.below), UNITS[-1])


def span(from_s: float, to_s: float) -> str:
    """Return two moments with as many digits as tell them apart: "2.701 to 2.818 s"."""
    decimals = _decimals(to_s - from_s)
    return f"{_fixed(from_s, decimals)} to {_fixed(to_s, decimals)} s"


def percent(share: float) -> str:
    """Return a share of 0.0561 as "5.6 %"."""
    return _with_unit(in_percent(100 * share), " %")


def in_percent(value: float) -> str:
    """Return percent of a whole for a column whose head says that they are percent: "5.6", "56", "< 0.1"."""
    if 0 < abs(value) < LEAST_TENTH:
        return "< 0.1" if value > 0 else "> -0.1"
    return _tenths(value)


def change(value: float) -> str:
    """Return a change in percent, with its sign: "+2.1 %"."""
    text = _tenths(value)
    return _with_unit(text if value < 0 or text in ("", "0") else f"+{text}", " %")


def percent_ends(low: float, high: float) -> str:
    """Return the ends of the interval that follows percent: "(-0.5 to 4.7 %)"."""
    return f"({_tenths(low)} to {_tenths(high)} %)"


def size(number: float) -> str:
    """Return bytes in units of 1,024 of the one before: "512 bytes", "1.5 MiB"."""
    power = 0
    while abs(number) >= ROUNDED_UP and power + 1 < len(BYTES):
        number, power = number / 1024, power + 1
    return _with_unit(digits(number), f" {BYTES[power]}")


def prefixed(value: float) -> str:
    """Return a large number in thousands: "12.3 k", "1.23 M"."""
    power = 0
    while abs(value) >= ROUNDED_UP and power + 1 < len(PREFIXES):
        value, power = value / 1000, power + 1
    return _with_unit(digits(value), PREFIXES[power])


def _tenths(value: float) -> str:
    """Return a number of percent."""
    return _fixed(value, 1 if abs(value) < 10 else 0)


def _with_unit(text: str, unit: str) -> str:
    return text and f"{text}{unit}"


def _decimals(value: float) -> int:
    """Return how many digits behind the point three significant ones need."""
    decimals = 0
    while abs(float(value)) * 10**decimals < 100 and decimals < MOST_DECIMALS:
        decimals += 1
    return decimals


def _fixed(value: float, decimals: int) -> str:
    """Return a number rounded to so many decimals, exactly, for `format` rounds halves to even digits."""
    if not math.isfinite(value):
        return ""
    numerator, denominator = abs(value).as_integer_ratio()
    rounded = (2 * numerator * 10**decimals + denominator) // (2 * denominator)
    whole, rest = divmod(rounded, 10**decimals)
    fraction = f".{rest:0{decimals}}".rstrip("0") if rest else ""
    return f"{'-' if value < 0 and rounded else ''}{whole:,}{fraction}"
