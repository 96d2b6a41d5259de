"""From exchanges to the offset between two clocks, its drift and its error, and clocks that are moved by it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlscope.model import ClockExchange
from rlscope.trace.clock import Clock
from rlscope.trace.clock_offset import ClockOffset, clock_offset, exchanges_in

S = 1_000_000_000
OWN = Clock(reference_ticks=1_000, reference_ns=5 * S, ns_per_denominator=616, denominator=100, realtime_offset_ns=7)


def offset_of(*exchanges: ClockExchange) -> ClockOffset:
    found = clock_offset(exchanges)
    assert found is not None
    return found


def test_nothing_asked() -> None:
    assert clock_offset([]) is None


def test_one_exchange() -> None:
    offset = offset_of(ClockExchange(10 * S, 300 * S, 40_000))
    assert [offset.at(time_ns) for time_ns in (0, 10 * S, 99 * S)] == [300 * S] * 3
    # 15 millionths of the time before and after it, as RFC 5905 allows a clock.
    assert offset.error_ns(10 * S, 10 * S) == 40_000
    assert offset.error_ns(9 * S, 12 * S) == 40_000 + 30_000
    assert offset.error_ns(6 * S, 12 * S) == 40_000 + 60_000
    assert offset.drift == 0.0


def test_the_best_exchange_counts() -> None:
    exchanges = [ClockExchange(10 * S, 5_000, 900), ClockExchange(11 * S, 5_200, 50), ClockExchange(20 * S, 5_700, 800)]
    offset = offset_of(*reversed(exchanges))
    assert offset.at(15 * S) == 5_200
    # Between the two exchanges it rests on: the other one says up to 5_700 + 800.
    assert offset.error_ns(11 * S, 20 * S) == 500 + 800


def test_drift() -> None:
    """The other clock gains 20 us in each second, which is 20 ppm."""
    offset = offset_of(ClockExchange(100 * S, -7 * S, 30_000), ClockExchange(200 * S, -7 * S + 2_000_000, 50_000))
    assert offset.drift == pytest.approx(20e-6)
    assert [offset.at(time_ns) for time_ns in (50 * S, 100 * S, 150 * S)] == [
        -7 * S - 1_000_000,
        -7 * S,
        -7 * S + 1_000_000,
    ]
    assert offset.error_ns(100 * S, 200 * S) == 50_000
    # Beyond: the rate is known to 80 us in 100 s, and may change by 15 ppm.
    assert offset.error_ns(100 * S, 210 * S) == 50_000 + 10 * (800 + 15_000)


@pytest.mark.parametrize(
    "last",
    [
        ClockExchange(200 * S, -7 * S + 70_000, 50_000),  # no more than the two may be wrong by
        ClockExchange(101 * S, -7 * S + 200_000, 50_000),  # too soon after the first to know a rate from it
        ClockExchange(200 * S, -6 * S, 50_000),  # no clock drifts so much: one of them was set
    ],
)
def test_drift_that_is_not_known(last: ClockExchange) -> None:
    offset = offset_of(ClockExchange(100 * S, -7 * S, 30_000), last)
    assert offset.drift == 0.0
    assert offset.at(10 * S) == offset.at(999 * S) == -7 * S
    assert offset.error_ns(100 * S, 101 * S) == last.offset_ns + 7 * S + last.error_ns


def test_an_exchange_in_between_says_otherwise() -> None:
    """The clock was slewed by 5 ms and back, as only the exchange in the middle saw."""
    offset = offset_of(
        ClockExchange(0, 0, 10_000), ClockExchange(45 * S, 5_000_000, 11_000), ClockExchange(100 * S, 0, 10_000)
    )
    assert offset.at(45 * S) == 0
    assert offset.error_ns(0, 100 * S) == 5_011_000


def test_an_exchange_before_those_of_the_line_says_otherwise() -> None:
    """A bound there is one with the growth, which is 45 us in the 3 s from it to the line's first."""
    best = [ClockExchange(4 * S, 0, 10_000), ClockExchange(20 * S, 0, 10_000)]
    offset = offset_of(ClockExchange(1 * S, 300_000, 20_000), *best)
    assert offset.error_ns(1 * S, 20 * S) == 320_000
    assert offset.error_ns(4 * S, 20 * S) == 320_000 - 45_000


def test_worse_exchanges_that_agree_change_nothing() -> None:
    best = [ClockExchange(0, 0, 10_000), ClockExchange(100 * S, 4_000_000, 10_000)]
    worse = [ClockExchange(30 * S, 1_300_000, 90_000), ClockExchange(80 * S, 3_000_000, 190_000)]
    assert offset_of(*best, *worse) == offset_of(*best)


EXCHANGES = st.builds(
    ClockExchange, st.integers(0, 100 * S), st.integers(-10_000_000, 10_000_000), st.integers(0, 1_000_000)
)


@given(st.lists(EXCHANGES, min_size=1, max_size=6))
def test_the_error_contradicts_no_exchange(exchanges: list[ClockExchange]) -> None:
    """What each exchange says of the offset at its time and what the line says of it have a value in common."""
    offset = offset_of(*exchanges)
    for found in exchanges:
        apart_ns = abs(found.offset_ns - offset.at(found.monotonic_ns))
        assert apart_ns <= found.error_ns + offset.error_ns(found.monotonic_ns, found.monotonic_ns)


@pytest.mark.parametrize("offset_ns", [300 * S, -5 * S])
def test_clock_that_is_moved(offset_ns: int) -> None:
    clock = offset_of(ClockExchange(6 * S, offset_ns, 1)).place(OWN, realtime_offset_ns=1_000 * S)
    assert clock.monotonic_ns(1_100) == pytest.approx(OWN.monotonic_ns(1_100) + offset_ns, abs=1, rel=0)
    assert clock.realtime_ns(1_100) == clock.monotonic_ns(1_100) + 1_000 * S
    assert clock.ticks_at(clock.monotonic_ns(12_345)) == 12_345
    # Time that passes is that of its own clock.
    assert clock.ns_per_denominator / clock.denominator == OWN.ns_per_denominator / OWN.denominator
    assert clock.reference_ns >= 0


@pytest.mark.parametrize("own", [OWN, Clock(0, 0, 16, 1, 7), replace(OWN, ns_per_denominator=10 * S, denominator=S)])
def test_clock_with_drift(own: Clock) -> None:
    offset = offset_of(ClockExchange(100 * S, 300 * S, 100), ClockExchange(200 * S, 300 * S + 2_000_000, 100))
    clock = offset.place(own, realtime_offset_ns=0)
    for time_ns in (50 * S, 100 * S, 160 * S, 200 * S, 10_000_000 * S):
        ticks = own.ticks_at(time_ns)
        own_ns = own.monotonic_ns(ticks)
        assert clock.monotonic_ns(ticks) == pytest.approx(own_ns + offset.at(own_ns), abs=1, rel=0)
    assert clock.denominator < 1 << 63


@pytest.mark.parametrize(
    "written",
    [
        None, 7, {"exchanges": None}, {"exchanges": [7]}, {"exchanges": [{"monotonic_ns": 1, "offset_ns": 2}]},
        {"exchanges": [{"monotonic_ns": 1, "offset_ns": 2, "error_ns": -1}]},
        {"exchanges": [{"monotonic_ns": 1, "offset_ns": 1 << 62, "error_ns": 1}]},
        {"exchanges": [{"monotonic_ns": 1.5, "offset_ns": 2, "error_ns": 1}]},
        {"exchanges": [{"monotonic_ns": True, "offset_ns": 2, "error_ns": 1}]},
    ],
)  # fmt: skip
def test_what_cannot_be_an_exchange_is_left_out(written: object) -> None:
    assert exchanges_in({"clock": written}) == []


def test_exchanges_of_a_process() -> None:
    written = {"exchanges": [{"monotonic_ns": 1, "offset_ns": -2, "error_ns": 3, "more": 4}], "unanswered": 0}
    assert exchanges_in({"clock": written}) == [ClockExchange(1, -2, 3)]
