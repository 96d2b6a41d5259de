"""This file finds how far one machine's clock is from another's, by exchanges between them, and bounds the error."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rlscope.model import NS_PER_S, ClockExchange
from rlscope.trace.clock import Clock

#: By how much a clock's rate may be off, in nanoseconds per second: PHI of RFC 5905.
TOLERANCE = 15_000
#: No clock that works is off by a per mille.
MOST_DRIFT = 1000
#: Times in files are less; what is more is damage.
LIMIT_NS = 1 << 62
FINE = 1 << 60


def exchanges_in(properties: Mapping[str, object]) -> list[ClockExchange]:
    """Return the exchanges that a process wrote; what cannot be one is left out."""
    clock = properties.get("clock")
    listed = clock.get("exchanges") if isinstance(clock, dict) else None
    found = []
    for item in listed if isinstance(listed, list) else []:
        monotonic_ns, offset_ns, error_ns = (time_in(item, name) for name in ("monotonic_ns", "offset_ns", "error_ns"))
        if monotonic_ns is not None and offset_ns is not None and error_ns is not None and error_ns >= 0:
            found.append(ClockExchange(monotonic_ns, offset_ns, error_ns))
    return found


def time_in(item: object, name: str) -> int | None:
    """Return the number of nanoseconds of that name in what JSON held; None where there is none that can be."""
    value = item.get(name) if isinstance(item, dict) else None
    return value if type(value) is int and abs(value) < LIMIT_NS else None


@dataclass(frozen=True)
class ClockOffset:
    """The offset over time: a straight line through two exchanges, level where `slope_ns` is 0 in `over_ns`.

    Attributes:
        start_ns: time of the first exchange that it rests on, by the machine's own CLOCK_MONOTONIC.
        offset_ns: what has to be added to that clock then, to have that of the machine of `rlscope record`.
        over_ns: how long after `start_ns` the last exchange was.
        slope_ns: by how much the offset grew until then.
        known_to_ns: the most that it is wrong by at the exchanges from the first to the last; between them too, if the
            clocks' rates are steady there.
        growth: how much more it may be wrong by for each second before and after them, in nanoseconds.
    """

    start_ns: int
    offset_ns: int
    over_ns: int
    slope_ns: int
    known_to_ns: int
    growth: int

    def at(self, monotonic_ns: int) -> int:
        """Return the offset at a time of the machine's own CLOCK_MONOTONIC."""
        if not self.slope_ns:
            return self.offset_ns
        grown = (monotonic_ns - self.start_ns) * self.slope_ns + self.over_ns // 2
        return self.offset_ns + grown // self.over_ns

    def error_ns(self, first_ns: int, last_ns: int) -> int:
        """Return the most that it is wrong by at any of the machine's own times between two, as far as the
        exchanges tell.
        """
        outside_ns = max(self.start_ns - first_ns, last_ns - self.start_ns - self.over_ns, 0)
        return self.known_to_ns + -(-outside_ns * self.growth // NS_PER_S)

    @property
    def drift(self) -> float:
        """Return by how much the other clock is faster, as a share; 0 where that is not known well enough to be
        used.
        """
        return self.slope_ns / self.over_ns if self.slope_ns else 0.0

    def place(self, clock: Clock, realtime_offset_ns: int) -> Clock:
        """Return the machine's `clock` on the time line of the other one.

        Args:
            clock: by its own readings.
            realtime_offset_ns: CLOCK_REALTIME less CLOCK_MONOTONIC of the machine of `rlscope record`.
        """
        # While both machines were up, so that it is a time of either.
        reference_ticks = clock.ticks_at(self.start_ns)
        own_ns = clock.monotonic_ns(reference_ticks)
        ns, ticks = clock.ns_per_denominator, clock.denominator
        if self.slope_ns:
            # A fraction of so large numbers that rounding to nanoseconds loses no drift.
            scale = max(min(FINE // ns, FINE // ticks), 1)
            ns, ticks = ns * scale, ticks * scale
            ns = max(ns + self.at(own_ns + ns) - self.at(own_ns), 1)
        return replace(
            clock,
            reference_ticks=reference_ticks,
            reference_ns=own_ns + self.at(own_ns),
            ns_per_denominator=ns,
            denominator=ticks,
            realtime_offset_ns=realtime_offset_ns,
        )


def clock_offset(exchanges: Iterable[ClockExchange]) -> ClockOffset | None:
    """Return the offset by the best exchanges of the first and the second half of a machine's time; None without any.

    The clocks' drift is used where it is greater than what the two exchanges may be wrong by, and better known than a
    rate that nobody measured. Otherwise the offset is that of the better one. The error is raised where any other
    exchange says so.
    """
    by_time = sorted(exchanges, key=lambda found: found.monotonic_ns)
    if not by_time:
        return None
    middle_ns = (by_time[0].monotonic_ns + by_time[-1].monotonic_ns) // 2
    early = [found for found in by_time if found.monotonic_ns <= middle_ns]
    late = [found for found in by_time if found.monotonic_ns > middle_ns] or early
    first, last = (min(half, key=lambda found: found.error_ns) for half in (early, late))
    over_ns, slope_ns = last.monotonic_ns - first.monotonic_ns, last.offset_ns - first.offset_ns
    errors_ns = first.error_ns + last.error_ns
    is_known = errors_ns * NS_PER_S <= TOLERANCE * over_ns
    if is_known and errors_ns < abs(slope_ns) < over_ns // MOST_DRIFT:
        growth = TOLERANCE + -(-errors_ns * NS_PER_S // over_ns)
        known_to_ns = max(first.error_ns, last.error_ns)
        line = ClockOffset(first.monotonic_ns, first.offset_ns, over_ns, slope_ns, known_to_ns, growth)
        return raised(line, by_time)
    best = min(first, last, key=lambda found: found.error_ns)
    known_to_ns = max(abs(found.offset_ns - best.offset_ns) + found.error_ns for found in (first, last))
    return raised(ClockOffset(first.monotonic_ns, best.offset_ns, over_ns, 0, known_to_ns, TOLERANCE), by_time)


def raised(line: ClockOffset, exchanges: Iterable[ClockExchange]) -> ClockOffset:
    """Return the same offset with an error that is a bound at each exchange that contradicts the one it has."""
    lacking_ns = 0
    for found in exchanges:
        apart_ns = abs(found.offset_ns - line.at(found.monotonic_ns))
        stated_ns = line.error_ns(found.monotonic_ns, found.monotonic_ns)
        # Those that agree are left out: one that took long allows much, which says nothing against the line.
        if apart_ns > stated_ns + found.error_ns:
            lacking_ns = max(lacking_ns, apart_ns + found.error_ns - stated_ns)
    return replace(line, known_to_ns=line.known_to_ns + lacking_ns)
