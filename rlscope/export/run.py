"""This file holds what each exported file has of a run beside slices: phases, iterations, names, counters."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from rlscope.analysis.analysis import Analysis, make_analysis
from rlscope.analysis.detail.slices import RunSlices, run_slices
from rlscope.analysis.detail.swept import SliceTrack, SliceTracks
from rlscope.analysis.sweep import ProcessSweep, sweep_trace
from rlscope.analysis.tables.calls import detail_of
from rlscope.errors import UsageError
from rlscope.model import NO_PHASE, NS_PER_S
from rlscope.text import encodable
from rlscope.text.numbers import duration
from rlscope.trace.reader import Trace

#: More than any machine has process ids.
ID_STEP = 1 << 22
Key = TypeVar("Key", bound=Hashable)


class Span(NamedTuple):
    """A named part of a process's life, in nanoseconds from the start of the run."""

    name: str
    start_ns: int
    end_ns: int


class Counter(NamedTuple):
    """A number over time: (nanoseconds from the start of the run, value) of each time that it changes."""

    name: str
    values: list[tuple[int, float]]


@dataclass(frozen=True)
class ExportRun:
    """A trace as all exported files show it.

    Attributes:
        slices: Its slices.
        analysis: Its tables, as recorded.
    """

    slices: RunSlices
    analysis: Analysis

    @property
    def processes(self) -> tuple[ProcessSweep, ...]:
        """Return its processes."""
        return self.slices.swept.processes

    @cached_property
    def process_ids(self) -> dict[str, int]:
        """Return a number for each process by name: its process id, or another where that came back."""
        return _distinct({process.name: process.file.header.pid for process in self.processes})

    def phases(self, process: ProcessSweep) -> list[Span]:
        """Return the phases of a process one after the other, of those that lie in the window."""
        detail = detail_of(process)
        names = [detail.phase_names[place] for place in array("I", detail.phases)]
        starts = [self.slices.time_ns(process, ticks) for ticks in array("Q", detail.phase_starts)]
        first_ns, last_ns = self.slices.life_ns(process)
        spans = [
            Span(name, max(start, first_ns), min(end, last_ns))
            for name, start, end in zip(names, starts, [*starts[1:], last_ns], strict=False)
        ]
        return [span for span in spans if span.name != NO_PHASE and span.start_ns < span.end_ns]

    def iterations(self, process: ProcessSweep) -> Iterator[Span]:
        """Yield the iterations of a process that end in the window, named by their number, from 0."""
        detail = detail_of(process)
        borders = zip(array("Q", detail.iteration_starts), array("Q", detail.iteration_ends), strict=True)
        for number, ticks in enumerate(borders):
            start_ns, end_ns = (self.slices.time_ns(process, each) for each in ticks)
            if self.slices.has(end_ns):
                yield Span(f"iteration {number}", start_ns, end_ns)

    def device_counters(self) -> list[Counter]:
        """Return how busy each device was in percent, and how busy it was reported to be, in equal parts of the run."""
        found: dict[str, Counter] = {}
        for row in self.analysis.device_timeline:
            start_ns, end_ns = round(row.start_s * NS_PER_S), round(row.end_s * NS_PER_S)
            if end_ns <= self.slices.start_ns or start_ns > self.slices.end_ns:
                continue
            for what, share in (("busy", row.busy), ("reported", row.reported)):
                if share is not None:
                    name = f"device {row.device} {what} %"
                    at_ns = max(start_ns, self.slices.start_ns)
                    found.setdefault(name, Counter(name, [])).values.append((at_ns, 100 * share))
        return list(found.values())


def export_run(trace: Trace, window_s: tuple[float, float] | None, recover: bool, bins: int = 0) -> ExportRun:
    """Sweep a trace for an exported file; with `bins`, the detail of each process has so many.

    Raises:
        UsageError: the run ends before the window begins.
    """
    swept = sweep_trace(trace, recover, bins=bins)
    slices = run_slices(swept, window_s, recover)
    if slices.start_ns > slices.end_ns:
        raise UsageError(
            f"a window within the run was expected, but the run lasts {duration(slices.end_ns / NS_PER_S)} and the "
            f"window begins {duration((slices.start_ns - slices.end_ns) / NS_PER_S)} later; give an earlier one"
        )
    return ExportRun(slices, make_analysis(swept, recover, by_function=True))


def timesteps(found: SliceTracks) -> Counter:
    """Return how many timesteps a process had reported, over time."""
    return Counter("timesteps", list(zip(array("Q", found.progress_ns), array("Q", found.timesteps), strict=True)))


def thread_ids(process: ProcessSweep) -> dict[int, int]:
    """Return the operating system's number of each thread, or another where that came back."""
    return _distinct({row.thread: row.thread_id for row in process.found.streams})


def thread_names(process: ProcessSweep) -> dict[int, str]:
    """Return the names of threads: those that the program gave, or their numbers in the process."""
    known = process.found.properties.get("threads")
    names = known if isinstance(known, dict) else {}
    return {
        row.thread: encodable(str(names.get(str(row.thread_id), "") or f"thread {row.thread}"))
        for row in process.found.streams
    }


def track_name(process: ProcessSweep, track: SliceTrack) -> str:
    """Return what a track is called; the lanes of one are called the same."""
    if track.kind == "queue":
        return f"device {track.device}, stream {track.cuda_stream}"
    name = thread_names(process)[track.stream]
    return name if track.kind == "thread" else f"{track.kind} of {name}"


def _distinct(numbers: Mapping[Key, int]) -> dict[Key, int]:
    taken: set[int] = set()
    found = {}
    for key, number in numbers.items():
        while number in taken:
            number += ID_STEP
        taken.add(number)
        found[key] = number
    return found
