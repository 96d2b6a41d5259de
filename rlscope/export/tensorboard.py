"""This file writes what each iteration of a run consists of as scalars for TensorBoard, in a folder per process."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, LogMessage
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from rlscope.analysis.sweep import ProcessSweep
from rlscope.analysis.tables.calls import detail_of
from rlscope.analysis.tables.shares import Shares
from rlscope.export.run import ExportRun, timesteps
from rlscope.model import NO_PHASE, NS_PER_S
from rlscope.outputs import MARK

#: The run that has what devices did, for any process.
DEVICES = "devices"
NS_PER_MS = 1_000_000
#: So many slices are gone through at once, for the timesteps between them.
SLICES = 1 << 20


@dataclass(frozen=True)
class Point:
    """This is what a process did in an iteration, or in an equal part of its life, in ticks of its clock.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        shares: What it consists of.
    """

    start: int
    end: int
    shares: Shares = field(default_factory=Shares)


def write_tensorboard(run: ExportRun, folder: Path) -> int:
    """Write a folder for each process into one that is there, and return how many points they have."""
    names = {DEVICES}
    points = 0
    for process in run.processes:
        name = re.sub(r"[^-.() 0-9A-Za-z_]|^[. ]+", "_", process.name)
        name += f" {run.process_ids[process.name]}" if name in names else ""
        names.add(name)
        points += _write_process(run, process, folder / name)
    if run.analysis.device_timeline:
        _write_devices(run, folder / DEVICES)
    return points


def _write_process(run: ExportRun, process: ProcessSweep, folder: Path) -> int:
    points = _points(process)
    _add_phases(process, points)
    names = dict.fromkeys(name for point in points for name in point.shares.parts)
    ends_ns = [run.slices.time_ns(process, point.end) for point in points]
    events = []
    for point, end_ns, step in zip(points, ends_ns, _steps(run, process, ends_ns), strict=True):
        shares = point.shares
        shares.total = point.end - point.start
        shares.parts.update(dict.fromkeys(names, 0))  # Counter adds: what had no time in a point is 0, and not missing
        ticks = {"seconds": shares.total} | {f"{name}_seconds": part for name, part in shares.parts.items()}
        seconds = {f"rlscope/{name}": number * process.seconds_per_tick for name, number in ticks.items()}
        events.append(_event(run, end_ns, step, seconds | shares.percent()))
    _write(folder, events)
    return len(points)


def _points(process: ProcessSweep) -> list[Point]:
    """Return one for each iteration; of a process without, or with more than there are bins, one for each bin."""
    detail, found = detail_of(process), process.found
    starts, ends = (array("Q", times) for times in (detail.iteration_starts, detail.iteration_ends))
    numbers = array("I", detail.iterations)
    bins = array("Q", detail.borders)
    if 0 < len(starts) <= len(bins) and len(set(numbers)) == len(starts):  # and nothing of any is left out
        points = [Point(*borders) for borders in zip(starts, ends, strict=True)]
        entries = zip(numbers, array("I", detail.iteration_functions), array("Q", detail.iteration_ticks), strict=True)
        rows = [(row.stage, row.category) for row in detail.functions]
    else:
        inside = (border for border in bins if found.start_ticks < border < found.end_ticks)
        points = [Point(*borders) for borders in pairwise([found.start_ticks, *inside, found.end_ticks])]
        entries = zip(array("I", detail.bins), array("I", detail.bin_series), array("Q", detail.bin_ticks), strict=True)
        rows = [(row.stage, row.category) for row in detail.series]
    for number, place, ticks in entries:
        stage, category = rows[place]
        points[number].shares.add("stage", stage, ticks)
        points[number].shares.add("layer", category, ticks)
    return points


def _add_phases(process: ProcessSweep, points: list[Point]) -> None:
    detail = detail_of(process)
    borders = [*array("Q", detail.phase_starts), process.found.end_ticks]
    starts, ends = (np.array([getattr(point, border) for point in points], np.int64) for border in ("start", "end"))
    for (start, end), place in zip(pairwise(borders), array("I", detail.phases), strict=True):
        if (phase := detail.phase_names[place]) == NO_PHASE:
            continue
        inside = np.minimum(ends, end) - np.maximum(starts, start)
        for number in np.nonzero(inside > 0)[0].tolist():
            points[number].shares.add("phase", phase, int(inside[number]))


def _steps(run: ExportRun, process: ProcessSweep, ends_ns: list[int]) -> list[int]:
    """Return how many timesteps the process had reported at each time; where it reported none, the points' numbers."""
    if not any(training.last_timesteps for training in process.found.trainings):
        return list(range(len(ends_ns)))
    reports = timesteps(run.slices.batches(process, SLICES, lambda _: None)).values
    # Both times are rounded to nanoseconds, each for itself.
    places = np.searchsorted([at_ns for at_ns, _ in reports], np.array(ends_ns) + 1, "right") - 1
    return [int(reports[place][1]) if place >= 0 else 0 for place in places.tolist()]


def _write_devices(run: ExportRun, folder: Path) -> None:
    events = []
    for row in run.analysis.device_timeline:
        shares = {"busy": row.busy, "reported": row.reported}
        known = {name: share for name, share in shares.items() if share is not None}
        values = {f"rlscope/device/{row.device}_{name}_percent": 100 * share for name, share in known.items()}
        end_ns = round(row.end_s * NS_PER_S)
        events.append(_event(run, end_ns, end_ns // NS_PER_MS, values))
    _write(folder, events)


def _event(run: ExportRun, at_ns: int, step: int, values: dict[str, float]) -> Event:
    summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
    return Event(wall_time=(run.slices.origin_ns + at_ns) / NS_PER_S, step=step, summary=summary)


def _write(folder: Path, events: Iterable[Event]) -> None:
    file = EventFileWriter(str(folder))
    file.add_event(Event(log_message=LogMessage(message=MARK)))  # which TensorBoard does not show
    for event in events:
        file.add_event(event)
    file.close()
