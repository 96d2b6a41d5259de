"""This file gathers what the page holds of a trace: tables, and bins, iterations and events of its processes."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rlscope._analysis import event_window
from rlscope.analysis.analysis import Analysis
from rlscope.analysis.detail.swept import SweptInstances, SweptLength, ThreadEvents
from rlscope.analysis.document import document_of
from rlscope.analysis.lines.frames import frames_of
from rlscope.analysis.rows import sums
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.tables.calls import call_rows, detail_of
from rlscope.analysis.tables.loop import rows_by_part
from rlscope.model import NS_PER_S, Category
from rlscope.page.account_part import account_of
from rlscope.page.container import Array
from rlscope.page.grid import Series, pack_bins, phase_bins
from rlscope.page.iterations import Iterations
from rlscope.page.samples import MOST_SAMPLES, longest_samples, sample_columns
from rlscope.page.short_detail import functions_for, short_detail
from rlscope.page.short_tables import MOST_ROWS, short_analysis

#: Events of all windows of a page together.
MOST_EVENTS = 260_000
LONGEST_WINDOW_TICKS = 2**32 - 1
#: A function with a smaller share of a process's time in Python is in no flame graph.
LEAST_OF_PYTHON = 1 / 2000
#: Of a run without iterations, so much of its middle is shown event by event.
MIDDLE = 0.02


class TraceData:
    """Builds the part of the header that is about one trace, and the arrays that it names.

    Args:
        name: What the page calls the trace.
        swept: The trace, swept with bins.
        analysis: Its analysis.
        focus_s: The page has every event between these seconds from the start of the run.
        shrink: Bins are 2 ** shrink times as wide, and windows, iterations and tables are as many times shorter.
    """

    def __init__(
        self, name: str, swept: TraceSweep, analysis: Analysis, focus_s: tuple[float, float] | None, shrink: int
    ) -> None:
        self.name = name
        self.shrink = shrink
        self.swept = short_sweep(swept, shrink)
        self.analysis = analysis
        self.focus_s = focus_s
        self.origin_ns = min(process.start_ns for process in swept.processes)
        self.arrays: dict[str, Array] = {}

    def header(self, prefix: str) -> dict[str, Any]:
        """Return the header's part; `prefix` stands before the names of the trace's arrays."""
        analysis, left_out = short_analysis(self.analysis, self.shrink)
        rows = self.analysis.processes.records()
        depths = tree_depths(rows)
        processes = [
            self.process(f"{prefix}p{number}.", process, row) | {"depth": depths[process.name]}
            for number, (process, row) in enumerate(zip(self.swept.processes, rows, strict=True))
        ]
        late = lateness(rows)
        waiting = sums(
            (row.process, row.seconds) for row in self.analysis.breakdown if row.category == Category.WAIT.label
        )
        for process in processes:
            process["waiting_s"] = waiting.get(process["process"], 0.0)
            process["late_s"] = late[process["process"]]
        lives = [{"part": part.value} | row.record() for part, row in rows_by_part(analysis.breakdown, analysis.loops)]
        return {
            "name": self.name,
            "length_s": max(process["end_s"] for process in processes),
            "processes": processes,
            "account": account_of(self.analysis),
            "document": without_nan(document_of(analysis) | {"breakdown": lives}),
            "device_work": without_nan(analysis.device_work.records()),
            "left_out": [*left_out, *self.samples_left_out(processes)],
            "calls": call_rows(self.swept).records(),
            "instances": self.instances(MOST_ROWS >> self.shrink),
            "iterations": self.iterations(prefix),
        }

    def add(self, name: str, array: Array, kind: str) -> str:
        """Keep an array, and return its name."""
        self.arrays[name] = array.astype(kind)
        return name

    def seconds(self, process: ProcessSweep, ticks: int) -> float:
        """Seconds from the start of the run to a time of the process's clock."""
        return (process.file.clock.realtime_ns(ticks) - self.origin_ns) / NS_PER_S

    def process(self, prefix: str, process: ProcessSweep, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the header has of a process: its row of the table, its clock, its bins, its windows."""
        detail = detail_of(process)
        entries = (
            np.frombuffer(detail.bins, "<u4"),
            np.frombuffer(detail.bin_series, "<u4"),
            np.frombuffer(detail.bin_ticks, "<u8"),
        )
        phases = [("", name, "", "") for name in detail.phase_names]
        return {
            **without_nan(dict(row)),
            "seconds_per_tick": process.seconds_per_tick,
            "length_ticks": process.found.end_ticks - process.found.start_ticks,
            "bins": self.bins(prefix, process, detail.series, entries),
            "phase_bins": self.bins(f"{prefix}phases.", process, phases, phase_bins(process))
            if detail.phase_starts
            else None,
            "windows": self.windows(prefix, process),
            "samples": self.samples(f"{prefix}samples.", process),
            "frames": frames_of(process, LEAST_OF_PYTHON * 2**self.shrink),
        }

    def bins(
        self, prefix: str, process: ProcessSweep, series: Sequence[Series], entries: tuple[Array, Array, Array]
    ) -> dict[str, Any]:
        """Return what the header has of bins: their width, the series in them, and the names of their arrays.

        Args:
            prefix: stands before the names of the arrays.
            process: whose bins they are.
            series: what the entries count.
            entries: of each the bin, the place of its series, and its ticks. Shape of each: (entries,).
        """
        borders = np.frombuffer(detail_of(process).borders, "<u8")
        count = len(borders) >> self.shrink
        bin_of, series_of, ticks = entries
        packed = pack_bins(series, bin_of >> self.shrink, series_of, ticks, count)
        return {
            "series": packed.series,
            "count": count,
            "width_ticks": (int(borders[0]) - process.found.start_ticks) << self.shrink,
            "mask": self.add(f"{prefix}mask", packed.mask, "u1"),
            "values": self.add(f"{prefix}values", packed.values, "u4"),
            "shift": packed.shift,
        }

    def samples(self, prefix: str, process: ProcessSweep) -> dict[str, Any] | None:
        """Return what the header has of samples; None of a process that has made none."""
        made = sum(bool(detail_of(each).samples) for each in self.swept.processes)
        samples = longest_samples(detail_of(process).samples, (MOST_SAMPLES >> self.shrink) // max(made, 1))
        if not samples:
            return None
        names = list(dict.fromkeys(row.name for row in samples))
        columns = sample_columns(samples, names, process.found.start_ticks)
        return {
            "names": names,
            "columns": {
                name: self.add(f"{prefix}{name}", column, narrowest(column)) for name, column in columns.items()
            },
        }

    def samples_left_out(self, processes: Sequence[Mapping[str, Any]]) -> list[str]:
        """Say how many samples have no track of their own."""
        made = sum(row.complete for process in self.swept.processes for row in process.found.samples)
        shown = sum(
            len(self.arrays[process["samples"]["columns"]["starts"]]) for process in processes if process["samples"]
        )
        if shown == made:
            return []
        return [f"The timeline shows the {shown:,} samples that took longest, of {made:,}."]

    def windows(self, prefix: str, process: ProcessSweep) -> list[dict[str, Any]]:
        """Return the parts of a process of which the page has all events."""
        wanted = self.wanted_windows(process)
        most = (MOST_EVENTS >> self.shrink) // max(len(self.swept.processes) * len(wanted), 1)
        found = []
        for number, (start, end, why) in enumerate(wanted):
            end = min(end, start + LONGEST_WINDOW_TICKS)
            window = event_window(process.file.path, start, end, most, recover=True)
            places = {name: place for place, name in enumerate(window.names)}
            threads = [
                self.thread(f"{prefix}w{number}.{events.thread}.", events, start, places) for events in window.threads
            ]
            found.append(
                {
                    "start_s": self.seconds(process, start),
                    "end_s": self.seconds(process, window.end_ticks),
                    "why": why,
                    "names": list(window.names.values()),
                    "threads": threads,
                }
            )
        return found

    def thread(self, prefix: str, events: ThreadEvents, start: int, places: Mapping[int, int]) -> dict[str, Any]:
        """Return the events of a thread in a window; times are ticks from the window's start."""
        starts, ends = (np.frombuffer(column, "<u8") for column in (events.starts, events.ends))
        names, depths = (np.frombuffer(column, "<u4") for column in (events.names, events.depths))
        place_of = np.zeros(max(places, default=0) + 1, dtype=np.uint32)
        place_of[list(places)] = list(places.values())
        return {
            "thread": events.thread,
            "starts": self.add(f"{prefix}starts", starts - np.uint64(start), "u4"),
            "ticks": self.add(f"{prefix}ticks", ends - starts, "u4"),
            "names": self.add(f"{prefix}names", place_of[names], "u4"),
            "depths": self.add(f"{prefix}depths", np.minimum(depths, 2**16 - 1), "u2"),
        }

    def wanted_windows(self, process: ProcessSweep) -> list[tuple[int, int, str]]:
        """Start, end and reason of each window, in ticks of the process."""
        start, end = process.found.start_ticks, process.found.end_ticks
        found = []
        if self.focus_s is not None:
            clock = process.file.clock
            offset = self.origin_ns - clock.realtime_offset_ns
            times = (clock.ticks_at(offset + round(seconds * NS_PER_S)) for seconds in self.focus_s)
            from_ticks, to_ticks = (min(max(ticks, start), end) for ticks in times)
            found.append((from_ticks, to_ticks, "focus"))
        iterations = Iterations.of(detail_of(process))
        if len(iterations.lengths):
            for number, why in iterations.worth_seeing():
                begin = int(iterations.starts[number])
                found.append((begin, begin + int(iterations.lengths[number]), why))
        else:
            middle, half = (start + end) // 2, int((end - start) * MIDDLE / 2)
            found.append((middle - half, middle + half, "middle"))
        return [window for window in found if window[0] < window[1]]

    def iterations(self, prefix: str) -> dict[str, Any] | None:
        """Take those of the process that reported most."""
        process = max(self.swept.processes, key=lambda process: len(detail_of(process).iteration_starts))
        detail = detail_of(process)
        found = Iterations.of(detail).with_fewer_entries(self.shrink)
        if len(found.lengths) == 0:
            return None
        groups = found.grouped(self.shrink)
        arrays = {
            "lengths": groups.lengths, "shortest": groups.shortest, "longest": groups.longest,
            "longest_at": groups.longest_at, "known": groups.known, "known_starts": groups.known_starts,
            "known_lengths": groups.known_lengths, "iteration": found.iteration, "cell": found.function,
            "ticks": found.ticks, "usual": found.usual(len(detail.functions)),
        }  # fmt: skip
        half, most = np.quantile(found.lengths, (0.5, 0.99)) * process.seconds_per_tick
        return {
            "process": process.name,
            "cells": [[row.stage, row.operation, row.category, row.function] for row in detail.functions],
            "count": len(found.lengths),
            "group": groups.size,
            "start_s": self.seconds(process, int(found.starts[0])),
            "p50_s": half,
            "p99_s": most,
            **{name: self.add(f"{prefix}i.{name}", array, narrowest(array)) for name, array in arrays.items()},
        }

    def instances(self, most: int) -> list[dict[str, Any]]:
        """Tell how long the instances of those operations took that took most in all."""
        found = [(process, row) for process in self.swept.processes for row in detail_of(process).instances]
        order = sorted(range(len(found)), key=lambda place: -found[place][1].ticks * found[place][0].seconds_per_tick)
        return [self.instances_of(*found[place]) for place in sorted(order[:most])]

    def instances_of(self, process: ProcessSweep, row: SweptInstances) -> dict[str, Any]:
        """Tell how long the instances of an operation took."""
        second = process.seconds_per_tick
        return {
            "process": process.name,
            "stage": row.stage,
            "operation": row.operation,
            "count": row.ended,
            "seconds": row.ticks * second,
            "p50_s": quantile(row.lengths, row.ended, 0.5) * second,
            "p99_s": quantile(row.lengths, row.ended, 0.99) * second,
            "slowest": [
                {"start_s": self.seconds(process, each.start_ticks), "seconds": each.ticks * second}
                for each in row.slowest
            ],
        }


def short_sweep(swept: TraceSweep, shrink: int) -> TraceSweep:
    """Return the sweep with as many functions as a page tells apart."""
    most = functions_for(len(swept.processes), shrink)
    return replace(
        swept,
        processes=tuple(
            replace(process, found=replace(process.found, detail=short_detail(detail_of(process), most)))
            for process in swept.processes
        ),
    )


def narrowest(array: Array) -> str:
    """Return the type that holds all numbers of the array in the fewest bytes: of integers 4 bytes, or 8 as floats."""
    return "u4" if array.dtype.kind == "u" and array.max(initial=0) < 2**32 else "f8"


def quantile(lengths: Sequence[SweptLength], count: int, share: float) -> int:
    """Return the ticks that a share of instances do not exceed, rounded down by at most a sixteenth of an octave."""
    seen = 0
    for length in lengths:
        seen += length.instances
        if seen >= count * share:
            return length.ticks
    return 0


def tree_depths(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count the recorded ancestors of each process."""
    parents = {row["process"]: row["parent"] for row in rows}
    depths = {}
    for name in parents:
        depth, above = 0, parents[name]
        while above is not None and depth < len(parents):
            depth, above = depth + 1, parents.get(above)
        depths[name] = depth
    return depths


def lateness(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Tell how much later each process ended than the first of its group; names that differ in a number are a group."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(re.sub(r"\d+", "#", row["process"]), []).append(row)
    return {
        row["process"]: row["end_s"] - min(other["end_s"] for other in group)
        for group in groups.values()
        for row in group
    }


def without_nan(value: Any) -> Any:
    """Return the value with None for what is no number, which JSON does not know."""
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
