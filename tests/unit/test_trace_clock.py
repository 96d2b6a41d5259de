"""Ticks to nanoseconds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlscope.errors import TraceFormatError
from rlscope.trace.clock import Clock, clock_id, make_clocks
from rlscope.trace.format import ClockKind, ClockPair, FileHeader

CLOCK = Clock(reference_ticks=1_000, reference_ns=50, ns_per_denominator=616, denominator=100, realtime_offset_ns=7)


def header(
    first: ClockPair, last: ClockPair, kind: ClockKind = ClockKind.TSC, boot_id: bytes = bytes(16)
) -> FileHeader:
    return FileHeader(
        clock=kind, tick_shift=4, pid=1, parent_pid=0, start_ticks=first.ticks, boot_id=boot_id, first_pair=first,
        last_pair=last,
    )  # fmt: skip


def test_rate_and_offset() -> None:
    assert CLOCK.monotonic_ns(1_000) == 50
    assert CLOCK.monotonic_ns(1_100) == 666
    assert CLOCK.monotonic_ns(900) == -566
    assert CLOCK.realtime_ns(1_100) == 673
    assert CLOCK.ticks_at(666) == 1_100


@given(st.integers(0, 1 << 50))
def test_ticks_survive_the_way_there_and_back(ticks: int) -> None:
    assert CLOCK.ticks_at(CLOCK.monotonic_ns(ticks)) == ticks


@given(st.integers(0, 1 << 50), st.lists(st.integers(0, 1 << 40)))
def test_parts_sum_to_the_whole(start: int, parts: list[int]) -> None:
    lengths = CLOCK.partition_ns(start, parts)
    assert sum(lengths) == CLOCK.monotonic_ns(start + sum(parts)) - CLOCK.monotonic_ns(start)
    assert all(abs(length - part * 6.16) < 1 + part * 1e-9 for length, part in zip(lengths, parts, strict=True))


def test_farthest_pairs_of_all_files_of_one_boot() -> None:
    near = header(ClockPair(100, 1_000, 5_000), ClockPair(110, 1_105, 5_105))
    far = header(ClockPair(90, 900, 4_900), ClockPair(190, 1_900, 5_900))
    other = header(ClockPair(0, 0, 0), ClockPair(10, 70, 70), boot_id=bytes(range(16)))
    clocks = make_clocks([near, far, other])
    assert clocks[clock_id(near)].monotonic_ns(100) == 1_000
    assert clocks[clock_id(near)].realtime_ns(190) == 5_900
    assert clocks[clock_id(other)].monotonic_ns(5) == 35


def test_monotonic_clock_is_exact() -> None:
    pair = ClockPair(10, 160, 1_160)
    clock = make_clocks([header(pair, pair, ClockKind.MONOTONIC)])[(bytes(16), ClockKind.MONOTONIC, 4)]
    assert (clock.monotonic_ns(11), clock.realtime_ns(11), clock.is_estimated) == (176, 1_176, False)


def test_one_reading_is_an_estimate() -> None:
    pair = ClockPair(1_000, 6_000, 9_000)
    clock = make_clocks([header(pair, pair)])[(bytes(16), ClockKind.TSC, 4)]
    assert clock.is_estimated
    assert clock.monotonic_ns(1_100) == 6_600


def test_clock_that_goes_backwards() -> None:
    good = header(ClockPair(10, 100, 100), ClockPair(20, 200, 200))
    with pytest.raises(TraceFormatError, match="must increase"):
        make_clocks([replace(good, last_pair=ClockPair(20, 50, 50))])
