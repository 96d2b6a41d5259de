"""This file looks at the last seconds of a trace again and again, while it is recorded or afterwards."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rlscope.analysis.devices.clock import shared_clocks
from rlscope.analysis.devices.devices import devices_of
from rlscope.analysis.devices.rows import GpuRow
from rlscope.analysis.devices.timeline import busy_parts
from rlscope.analysis.devices.work import gpu_rows
from rlscope.analysis.live.joined_windows import goes_on, joined_training, joined_windows
from rlscope.analysis.live.live_rows import LiveProcess, Rates, live_processes, rates_of
from rlscope.analysis.live.window import BEHIND_NS, Window
from rlscope.analysis.reported import Utilization
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import TraceSweep, sweep_trace
from rlscope.analysis.swept import SweptTraining
from rlscope.analysis.table_rows import BreakdownRow
from rlscope.analysis.tables.breakdown import breakdown_rows
from rlscope.boot import boot_id, stored_boot_id
from rlscope.model import NS_PER_S
from rlscope.trace.reader import ProcessFile, Trace, open_trace

#: So much of a run is looked at.
WINDOW_NS = 5 * NS_PER_S
#: So much of the samples of utilisation holds them for the window and longer, of any machine.
SAMPLES_BYTES = 1 << 17
SCHEMA = 1


@dataclass(frozen=True)
class LiveView:
    """The last seconds of a run.

    Attributes:
        directory: The trace.
        is_recording: Whether it is still being written.
        start_s: Where the window begins, in seconds since the first process started.
        end_s: Where it ends.
        processes: Those that have time in it.
        breakdown: Their time.
        gpu: The devices that worked in it.
        rates: How fast the training goes on.
        dropped_events: Records that could not be written so far.
        why: What is missing from the trace, one sentence each.
        troubles: What `rlscope record` cannot do with the windows of the run now, likewise.
        stuck: Who waits for whom in vain; empty if the run goes on.
    """

    directory: Path
    is_recording: bool
    start_s: float
    end_s: float
    processes: Rows[LiveProcess]
    breakdown: Rows[BreakdownRow]
    gpu: Rows[GpuRow]
    rates: Rates
    dropped_events: int
    why: tuple[str, ...]
    troubles: tuple[str, ...] = ()
    stuck: str = ""

    def to_json_dict(self) -> dict[str, object]:
        """Return the document of `rlscope top --json`."""
        return {
            "schema": SCHEMA,
            "trace": str(self.directory),
            "recording": self.is_recording,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "processes": self.processes.records(),
            "breakdown": self.breakdown.records(),
            "gpu": [{name: value for name, value in row.items() if name != "name"} for row in self.gpu.records()],
            **self.rates.record(),
            "dropped_events": self.dropped_events,
            "why": [*self.troubles, *self.why],
            "stuck": self.stuck,
        }


class LiveTrace:
    """A trace that is looked at again and again. Each look sweeps what was recorded since the one before."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._parts: deque[tuple[Window, TraceSweep]] = deque()
        self._progress: dict[Path, list[SweptTraining]] = {}
        self._ended: LiveView | None = None

    def look(self) -> LiveView:
        """Return the last seconds.

        Raises:
            TraceError: there is no trace, or it cannot be read.
            TraceFormatError: nothing of it can be used.
        """
        trace = open_trace(self.directory, recover=True)
        is_recording = not _has_ended(trace)
        if not is_recording and self._ended is not None:
            return self._ended
        end_ns = now_ns(trace) - BEHIND_NS if is_recording else _end_ns(trace)
        if self._ended is not None or not self._parts:
            self._parts.clear()
            window = Window(end_ns - WINDOW_NS, end_ns)
        else:
            before, swept = self._parts[-1]
            swept_ticks = {process.file.path: process.found.end_ticks for process in swept.processes}
            window = Window(before.end_ns, max(end_ns, before.end_ns), swept_ticks)
        swept = sweep_trace(trace, recover=True, window=window)
        self._parts.append((window, swept))
        while len(self._parts) > 1 and window.end_ns - self._parts[1][0].start_ns >= WINDOW_NS:
            self._parts.popleft()
        self._note_progress(swept)
        view = self._view(trace, is_recording)
        self._ended = None if is_recording else view
        return view

    def _note_progress(self, swept: TraceSweep) -> None:
        """Keep reports of the window, and as many of its training before it as make two: iterations may take longer."""
        for process in swept.processes:
            reports = self._progress.setdefault(process.file.path, [])
            for training in process.found.trainings:
                if reports and not goes_on(reports[-1], training):
                    reports.clear()
                reports.append(training)
            while len(reports) > 1 and process.length_ns(reports[-1].last_ticks - reports[1].first_ticks) >= WINDOW_NS:
                reports.pop(0)

    def _view(self, trace: Trace, is_recording: bool) -> LiveView:
        window = Window(self._parts[0][0].start_ns, self._parts[-1][0].end_ns)
        swept = joined_windows([part for _, part in self._parts])
        origin_ns = min(file.clock.realtime_ns(file.header.start_ticks) for file in trace.processes)
        found = [process.found for process in swept.processes]
        progress = [
            (process, joined_training(reports))
            for process in swept.processes
            if (reports := self._progress.get(process.file.path))
        ]
        breakdown = breakdown_rows(swept, None)
        return LiveView(
            directory=trace.directory,
            is_recording=is_recording,
            start_s=max(window.start_ns - origin_ns, 0) / NS_PER_S,
            end_s=(window.end_ns - origin_ns) / NS_PER_S,
            processes=live_processes(swept, breakdown, window.end_ns),
            breakdown=breakdown,
            gpu=_gpu_rows(swept, window),
            rates=rates_of(progress),
            dropped_events=sum(each.dropped_records + each.dropped_device_records for each in found),
            why=swept.why,
        )


def fills_window(trace: Trace) -> bool:
    """Return whether a trace has ended, or was begun long enough ago for a look at all of `WINDOW_NS`."""
    start_ns = min(file.clock.realtime_ns(file.header.start_ticks) for file in trace.processes)
    return _has_ended(trace) or now_ns(trace) - BEHIND_NS - WINDOW_NS >= start_ns


def _gpu_rows(swept: TraceSweep, window: Window) -> Rows[GpuRow]:
    devices = devices_of(swept)
    if not devices:
        return Rows(GpuRow)
    offset_ns = swept.main.file.clock.realtime_offset_ns
    reported = Utilization(swept.trace.directory, SAMPLES_BYTES)
    mean = reported.mean(window.start_ns - offset_ns, window.end_ns - offset_ns)
    return gpu_rows(devices, busy_parts(shared_clocks(swept, devices), recover=True), mean)


def _has_ended(trace: Trace) -> bool:
    return trace.manifest.get("complete") is True or all(file.header.stop_ticks for file in trace.processes)


def _end_ns(trace: Trace) -> int:
    return max(_last_ns(file) for file in trace.processes)


def _last_ns(file: ProcessFile) -> int:
    """Return when a process ended that does not record any more, as far as its header and the manifest know."""
    return file.clock.realtime_ns(file.header.stop_ticks or file.limit_ticks or file.header.last_pair.ticks)


def now_ns(trace: Trace) -> int:
    """Return the present time on the time line of the trace, in nanoseconds since 1970.

    The clock that tells it may have been set since the trace was begun; CLOCK_MONOTONIC of its machine was not.
    """
    here = _boot_id()
    for file in trace.processes:
        if file.header.boot_id == here:
            return time.monotonic_ns() + file.clock.realtime_offset_ns
    return time.time_ns()


def _boot_id() -> bytes:
    with suppress(ValueError):
        return stored_boot_id(boot_id() or "")
    return b""
