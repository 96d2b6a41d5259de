"""This file converts ticks to nanoseconds, so that the processes of a trace share one time line."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from rlscope.errors import TraceFormatError
from rlscope.trace.format import ClockKind, ClockPair, FileHeader


@dataclass(frozen=True)
class Clock:
    """A linear clock: `ns_per_denominator` ns pass in `denominator` ticks. All results are integers."""

    reference_ticks: int
    reference_ns: int
    ns_per_denominator: int
    denominator: int
    realtime_offset_ns: int
    is_estimated: bool = False

    def monotonic_ns(self, ticks: int) -> int:
        """Return CLOCK_MONOTONIC of the machine at `ticks`."""
        scaled = (ticks - self.reference_ticks) * self.ns_per_denominator
        return self.reference_ns + (scaled + self.denominator // 2) // self.denominator

    def realtime_ns(self, ticks: int) -> int:
        """Return nanoseconds since 1970 at `ticks`: comparable between machines."""
        return self.monotonic_ns(ticks) + self.realtime_offset_ns

    def ticks_at(self, monotonic_ns: int) -> int:
        """Return the ticks at a time of CLOCK_MONOTONIC."""
        scaled = (monotonic_ns - self.reference_ns) * self.denominator
        return self.reference_ticks + (scaled + self.ns_per_denominator // 2) // self.ns_per_denominator

    def partition_ns(self, start_ticks: int, parts: Iterable[int]) -> list[int]:
        """Convert lengths in ticks to lengths in ns, such that their sum is what the sum of the ticks converts to.

        Laid end to end from `start_ticks`, each boundary is rounded once: no part is off by more than 1 ns.
        """
        lengths = []
        ticks, before = start_ticks, self.monotonic_ns(start_ticks)
        for part in parts:
            ticks += part
            after = self.monotonic_ns(ticks)
            lengths.append(after - before)
            before = after
        return lengths


ClockId = tuple[bytes, int, int]


def clock_id(header: FileHeader) -> ClockId:
    """Return what files with one clock share: the boot of a machine, the counter, the shift."""
    return header.boot_id, header.clock, header.tick_shift


def make_clocks(headers: Iterable[FileHeader]) -> dict[ClockId, Clock]:
    """Return one clock per machine's boot, from the two pairs of readings that lie farthest apart among all its
    files.
    """
    by_clock: defaultdict[ClockId, list[ClockPair]] = defaultdict(list)
    for header in headers:
        by_clock[clock_id(header)] += [header.first_pair, header.last_pair]
    clocks = {}
    for key, pairs in by_clock.items():
        first = min(pairs, key=lambda pair: pair.ticks)
        last = max(pairs, key=lambda pair: pair.ticks)
        offset = first.realtime_ns - first.monotonic_ns
        _, kind, shift = key
        if kind == ClockKind.MONOTONIC:
            clocks[key] = Clock(0, 0, 1 << shift, 1, offset)
            continue
        ticks, elapsed_ns = last.ticks - first.ticks, last.monotonic_ns - first.monotonic_ns
        is_estimated = ticks == 0
        if is_estimated:
            # One reading only: the process was killed early. Both clocks count from about the machine's boot.
            ticks, elapsed_ns = first.ticks, first.monotonic_ns
        if ticks <= 0 or elapsed_ns <= 0:
            raise TraceFormatError(
                f"the clock readings of process file headers must increase, but {ticks} ticks took {elapsed_ns} ns; "
                "the headers are damaged, record the run again"
            )
        clocks[key] = Clock(first.ticks, first.monotonic_ns, elapsed_ns, ticks, offset, is_estimated)
    return clocks
