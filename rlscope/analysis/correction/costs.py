"""This file says what recording one event costs, with an interval. Standard library only, as `record` loads it."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Bounds:
    """A cost in ns with its interval of 95 %."""

    low: float
    mean: float
    high: float

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.low + other.low, self.mean + other.mean, self.high + other.high)

    def __mul__(self, times: float) -> Bounds:
        return Bounds(self.low * times, self.mean * times, self.high * times)


ZERO = Bounds(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Cost:
    """This is what recording one event takes.

    Attributes:
        records_inside_ns: the work of its two records within the recorded interval.
        records_outside_ns: their work outside, in the time of what encloses the event.
        rest_outside_ns: all else that is outside, however often the work of the records is done.
        events: that it was measured with.
        rest_inside_ns: all else within the interval, as what CUPTI does in a call that it traces.
    """

    records_inside_ns: Bounds
    records_outside_ns: Bounds
    rest_outside_ns: Bounds
    events: int
    rest_inside_ns: Bounds = ZERO

    @property
    def inside_ns(self) -> Bounds:
        """Return what is within the recorded interval."""
        return self.records_inside_ns + self.rest_inside_ns

    @property
    def outside_ns(self) -> Bounds:
        """Return what is not."""
        return self.records_outside_ns + self.rest_outside_ns

    @property
    def total_ns(self) -> Bounds:
        """Return the costs inside and outside together."""
        return self.inside_ns + self.outside_ns

    def amplified(self, times: int) -> Cost:
        """Return the cost where the work of each record is done so many times."""
        return replace(
            self,
            records_inside_ns=self.records_inside_ns * times,
            records_outside_ns=self.records_outside_ns * times,
        )
