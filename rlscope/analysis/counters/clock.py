"""This file finds how far a sampled device's clock is ahead of its machine's, by what samples and work agree on."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rlscope.analysis.counters.intervals import Intervals, Times
from rlscope.trace.counter_metrics import ACTIVE_CYCLES
from rlscope.trace.counters_file import CounterSamples

#: The offset is found anew in each part of the run of about this length.
PIECE_NS = 2_000_000_000
#: A device's clock runs by at most this share faster or slower.
MOST_DRIFT = 1e-4
#: Offsets that are tried lie so many to an interval of samples: first over all that may be, then around the best.
COARSE, FINE = 10, 100
#: More are not tried in a piece, which would take longer than the piece did: the clock is then not searched there.
MOST_TRIED = 4000
EQUAL = 1e-9

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CounterClock:
    """The offset at some times, a straight line between them; before and after them it drifts as it did in all.

    Attributes:
        origin_ns: a time of the device's clock.
        ahead_ns: a middle value of the offset.
        at_ns: times of the device's clock, from `origin_ns`, in order; none where nothing says what the offset is.
        further_ahead_ns: the offset at these times, from `ahead_ns`.
    """

    origin_ns: int
    ahead_ns: int
    at_ns: Values
    further_ahead_ns: Values

    def monotonic_ns(self, device_ns: Times) -> Times:
        """Return CLOCK_MONOTONIC of the machine at times of the device's clock."""
        passed_ns = device_ns - self.origin_ns
        further_ns = self._further_ahead_ns(passed_ns.astype(float))
        return passed_ns + (self.origin_ns - self.ahead_ns) - np.rint(further_ns).astype(np.int64)

    def _further_ahead_ns(self, passed_ns: Values) -> Values:
        if not len(self.at_ns):
            return np.zeros(len(passed_ns))
        (first, last), (low, high) = self.at_ns[[0, -1]], self.further_ahead_ns[[0, -1]]
        drift = (high - low) / max(last - first, 1.0)
        outside_ns = passed_ns - np.clip(passed_ns, first, last)
        further_ns: Values = np.interp(passed_ns, self.at_ns, self.further_ahead_ns) + drift * outside_ns
        return further_ns


def counter_clock(samples: CounterSamples, kernels: Intervals) -> CounterClock:
    """Return the clock by which the samples in which the device was active are those in which recorded kernels ran.

    Args:
        samples: of one device, at least one.
        kernels: when recorded kernels ran on it by CLOCK_MONOTONIC; a union. Copies need no active cycles.
    """
    ahead_ns = (samples.offset_low_ns + samples.offset_high_ns) // 2
    origin_ns = int(samples.start_ns[0])
    if not len(kernels.start):
        return CounterClock(origin_ns, ahead_ns, np.array([]), np.array([]))
    work = _Work.of(kernels, origin_ns - ahead_ns)
    radius_ns = (samples.offset_high_ns - samples.offset_low_ns) / 2 + samples.interval_ns
    known_at_ns, known_ns = 0.0, 0.0
    at_ns: list[float] = []
    found_ns: list[float] = []
    for piece in _pieces(samples, origin_ns):
        drifted_ns = MOST_DRIFT * (piece.middle_ns - known_at_ns)
        best_ns = piece.best_offset(work, known_ns, radius_ns + drifted_ns, samples.interval_ns)
        if best_ns is None:
            continue
        radius_ns = samples.interval_ns / 2
        known_at_ns, known_ns = piece.middle_ns, best_ns
        at_ns.append(known_at_ns)
        found_ns.append(known_ns)
    return CounterClock(origin_ns, ahead_ns, np.array(at_ns), np.array(found_ns))


@dataclass(frozen=True)
class _Work:
    """This says how long kernels ran until each of their starts and ends."""

    border_ns: Values
    busy_ns: Values

    @classmethod
    def of(cls, kernels: Intervals, origin_ns: int) -> "_Work":
        border_ns = np.column_stack([kernels.start, kernels.end]).ravel() - origin_ns
        lengths_ns = kernels.end - kernels.start
        busy_ns = np.cumsum(np.column_stack([np.zeros_like(lengths_ns), lengths_ns]).ravel())
        return cls(border_ns.astype(float), busy_ns.astype(float))

    def within(self, low_ns: float, high_ns: float) -> "_Work":
        """Return what says how long kernels ran between any two times from `low_ns` to `high_ns`."""
        first, last = np.searchsorted(self.border_ns, [low_ns, high_ns])
        whole = slice(first // 2 * 2, -(-last // 2) * 2)  # kernels as a whole
        return _Work(self.border_ns[whole], self.busy_ns[whole])

    def longest_gap(self, low_ns: float, high_ns: float) -> float:
        """Return the longest time without kernels between `low_ns` and `high_ns`."""
        borders_ns = np.clip(self.border_ns, low_ns, high_ns)
        starts_ns, ends_ns = borders_ns[::2], borders_ns[1::2]
        return float(np.max(np.append(starts_ns, high_ns) - np.insert(ends_ns, 0, low_ns)))

    def busy_until(self, time_ns: Values) -> Values:
        return np.interp(time_ns, self.border_ns, self.busy_ns)


@dataclass(frozen=True)
class _Piece:
    """Samples of a part of the run; `activity` is in active cycles, of which there are some."""

    start_ns: Values
    end_ns: Values
    activity: Values

    @property
    def middle_ns(self) -> float:
        return float(self.start_ns[0] + self.end_ns[-1]) / 2

    def best_offset(self, work: _Work, middle_ns: float, radius_ns: float, interval_ns: int) -> float | None:
        """Return the likeliest offset at most `radius_ns` from `middle_ns`; None if nothing says it or too many are to
        be tried.

        Nothing says it where offsets that are an interval apart are equally good.
        """
        step_ns = interval_ns / COARSE
        furthest = np.ceil(radius_ns / step_ns)
        if 2 * furthest + 1 > MOST_TRIED:
            return None
        offsets_ns = middle_ns + step_ns * np.arange(-furthest, furthest + 1)
        low_ns, high_ns = self.start_ns[0] - offsets_ns[-1] - step_ns, self.end_ns[-1] - offsets_ns[0] + step_ns
        work = work.within(low_ns, high_ns)
        if self._is_alike(work, low_ns, high_ns):
            return None
        best_ns = self._best(work, offsets_ns)
        if best_ns[-1] - best_ns[0] >= interval_ns:
            return None
        around_ns = np.arange(best_ns[0] - step_ns, best_ns[-1] + step_ns, interval_ns / FINE)
        best_ns = self._best(work, around_ns)
        return float(best_ns[0] + best_ns[-1]) / 2

    def _is_alike(self, work: _Work, low_ns: float, high_ns: float) -> bool:
        """Return whether all offsets are equally good: no kernels are in reach, or the device is never idle for
        a sample.
        """
        gap_ns = work.longest_gap(low_ns, high_ns)
        is_always_busy = bool(self.activity.all()) and gap_ns + 1 <= (self.end_ns - self.start_ns).min()
        return is_always_busy or gap_ns >= high_ns - low_ns

    def _best(self, work: _Work, offsets_ns: Values) -> Values:
        disagreement = np.array([self._disagreement(work, offset_ns) for offset_ns in offsets_ns])
        best_ns: Values = offsets_ns[disagreement <= disagreement.min() + EQUAL]
        return best_ns

    def _disagreement(self, work: _Work, offset_ns: float) -> float:
        """Return the share of activity in samples without work, and that of work in samples without activity."""
        busy_ns = work.busy_until(self.end_ns - offset_ns) - work.busy_until(self.start_ns - offset_ns)
        unexplained = self.activity[busy_ns < 0.5].sum() / self.activity.sum()
        inactive_ns = busy_ns[self.activity == 0].sum()
        return float(unexplained + inactive_ns / max(busy_ns.sum(), 1.0))


def _pieces(samples: CounterSamples, origin_ns: int) -> Iterator[_Piece]:
    """Yield the parts of the run in which the device was active."""
    activity = samples.columns[ACTIVE_CYCLES]
    length_ns = int(samples.end_ns[-1]) - origin_ns
    piece_ns = -(-length_ns // max(round(length_ns / PIECE_NS), 1))
    _, firsts = np.unique((samples.start_ns - origin_ns) // piece_ns, return_index=True)
    for first, last in pairwise([*firsts.tolist(), len(activity)]):
        if activity[first:last].any():
            times = (samples.start_ns[first:last] - origin_ns, samples.end_ns[first:last] - origin_ns)
            yield _Piece(times[0].astype(float), times[1].astype(float), activity[first:last])
