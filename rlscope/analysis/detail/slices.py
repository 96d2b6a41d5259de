"""The slices of processes, which files for other programs hold: every such file draws from here.

Times are in nanoseconds from the start of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rlscope._analysis import perfetto_slices, slice_batches
from rlscope.analysis.detail.swept import SliceBatch, SliceTracks
from rlscope.analysis.ranks.matching import CommunicatorKey, communicators_of
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.model import NS_PER_S, Category, Stage

#: The kind of a slice by its number: the layer of a call, or what else it is.
SLICE_KINDS = (
    *(category.label for category in Category if category is not Category.NO_CORE),
    "operation", "phase", "kernel", "copy", "memset", "task", "collective",
)  # fmt: skip
#: The stage of a slice by its number.
SLICE_STAGES = tuple(stage.value for stage in Stage)


@dataclass(frozen=True)
class RunSlices:
    """The slices of a trace's processes between two times.

    Attributes:
        swept: The trace, swept in detail.
        origin_ns: The start of the run, in nanoseconds since 1970.
        start_ns: The window's start, from that of the run.
        end_ns: Its end.
        recover: Step over damage rather than raise.
    """

    swept: TraceSweep
    origin_ns: int
    start_ns: int
    end_ns: int
    recover: bool

    def time_ns(self, process: ProcessSweep, ticks: int) -> int:
        """Return the time at ticks of a process's clock."""
        return process.file.clock.realtime_ns(ticks) - self.origin_ns

    def has(self, time_ns: int) -> bool:
        """Tell whether a time lies in the window."""
        return self.start_ns <= time_ns <= self.end_ns

    def life_ns(self, process: ProcessSweep) -> tuple[int, int]:
        """Return when a process began and ended, as far as the window goes."""
        start_ns, end_ns = (self.time_ns(process, t) for t in (process.found.start_ticks, process.found.end_ticks))
        return max(start_ns, self.start_ns), min(end_ns, self.end_ns)

    def batches(self, process: ProcessSweep, most_slices: int, on_batch: Callable[[SliceBatch], None]) -> SliceTracks:
        """Give the slices of a process to a function, so many at a time; return their tracks."""
        window = self._window(process)
        return slice_batches(process.file.path, window, self._flows(process), most_slices, on_batch, self.recover)

    def perfetto(self, process: ProcessSweep, first_number: int, write: Callable[[bytes], object]) -> SliceTracks:
        """Write the slices of a process as Perfetto's packets; return their tracks, which are numbered in order."""
        window = self._window(process)
        return perfetto_slices(process.file.path, window, self._flows(process), first_number, write, self.recover)

    def _window(self, process: ProcessSweep) -> tuple[int, int, tuple[int, int, int, int], int]:
        clock, found = process.file.clock, process.found
        at = self.origin_ns - clock.realtime_offset_ns
        start, end = (clock.ticks_at(at + time_ns) for time_ns in (self.start_ns, self.end_ns))
        reference_ns = clock.reference_ns + clock.realtime_offset_ns
        conversion = clock.reference_ticks, reference_ns, clock.ns_per_denominator, clock.denominator
        return max(start, found.start_ticks), min(end, found.end_ticks), conversion, self.origin_ns

    def _flows(self, process: ProcessSweep) -> Mapping[str, int]:
        numbers: dict[CommunicatorKey, int] = {}
        for each in self.swept.processes:
            for key in communicators_of(each.found.properties).values():
                numbers.setdefault(key, len(numbers) + 1)
        return {label: numbers[key] for label, key in communicators_of(process.found.properties).items()}


def run_slices(swept: TraceSweep, window_s: tuple[float, float] | None = None, recover: bool = False) -> RunSlices:
    """Return the slices of a trace, or of the part between two times in seconds from its start."""
    origin_ns = min(process.start_ns for process in swept.processes)
    end_ns = max(process.end_ns for process in swept.processes) - origin_ns
    start_s, last_s = window_s or (0.0, end_ns / NS_PER_S)
    return RunSlices(swept, origin_ns, round(start_s * NS_PER_S), min(round(last_s * NS_PER_S), end_ns), recover)
