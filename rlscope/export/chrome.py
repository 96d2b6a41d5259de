"""This file writes a run as Chrome's trace events: JSON that chrome://tracing, speedscope and HTA read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rlscope.analysis.detail.swept import SliceTrack
from rlscope.analysis.sweep import ProcessSweep
from rlscope.export.columns import Array, SliceColumns, each_part
from rlscope.export.run import Counter, ExportRun, Span, timesteps, track_name
from rlscope.outputs import MARK

#: So many slices are turned into text at once.
SLICES = 1 << 17
#: Tracks of what is not on one of the trace's own tracks.
PHASES, ITERATIONS, FIRST_TRACK = 1, 2, 3
NS_PER_US = 1000
Write = Callable[[bytes], object]


def write_chrome(run: ExportRun, write: Write) -> int:
    """Give the file to `write`, part by part, and return how many slices of threads and devices it has."""
    write(b'{"displayTimeUnit": "ns", "otherData": {"writer": "%b"}, "traceEvents": [\n' % MARK.encode())
    slices = sum(_write_process(run, process, write) for process in run.processes)
    for counter in run.device_counters():
        write(_lines(_counter_events(counter, 0)))
    # JSON allows no comma behind the last one.
    write(json.dumps(_event("M", "process_labels", 0, 0, args={"labels": "devices"})).encode() + b"\n]}\n")
    return slices


def _write_process(run: ExportRun, process: ProcessSweep, write: Write) -> int:
    pid = run.process_ids[process.name]
    found = each_part(run, process, SLICES, lambda slices: write(_slice_lines(slices, pid)))
    names = [(PHASES, "phases"), (ITERATIONS, "iterations")]
    names += [(place, track_name(process, track)) for place, track in enumerate(found.tracks, FIRST_TRACK)]
    write(_lines([_event("M", "process_name", pid, 0, args={"name": process.name})]))
    write(_lines(_event("M", "thread_name", pid, track, args={"name": name}) for track, name in names))
    write(_lines(_event("X", span.name, pid, PHASES, span, cat="phase") for span in run.phases(process)))
    marks = (Span(span.name, span.end_ns, span.end_ns) for span in run.iterations(process))
    write(_lines(_event("i", mark.name, pid, ITERATIONS, mark, cat="iteration", s="t") for mark in marks))
    write(_lines(_counter_events(timesteps(found), pid)))
    return sum(track.slices for track in found.tracks)


def _slice_lines(slices: SliceColumns, pid: int) -> bytes:
    # What stands between two columns is part of the texts of one: there are few of these, and many slices.
    parts = [
        _track_ids(slices.tracks, pid),
        slices.kinds(lambda kind: f',"cat":{json.dumps(kind)}'),
        slices.names(lambda name: f',"name":{json.dumps(name)},"ts":'),
        *_microseconds(slices.starts_ns, ',"dur":'),
        *_microseconds(slices.lengths_ns, ',"args":{"stage":'),
        slices.stages(json.dumps),
        slices.operations(lambda name: f',"operation":{json.dumps(name)}'),
        slices.track_texts(lambda track: f"{_queue(track)}}}}},\n"),
    ]
    columns = [part.cast(pa.string()) if isinstance(part, pa.DictionaryArray) else part for part in parts]
    lines = pc.binary_join_element_wise(*columns, "")
    # The texts of an array lie one behind the other.
    offsets, texts = (
        np.frombuffer(buffer, kind) for buffer, kind in zip(lines.buffers()[1:], ("<i4", "u1"), strict=True)
    )
    return bytes(texts[offsets[0] : offsets[len(lines)]])


def _track_ids(tracks: Array, pid: int) -> pa.Array:
    count = int(tracks.max(initial=0)) + 1
    known = pa.array([f'{{"ph":"X","pid":{pid},"tid":{FIRST_TRACK + place}' for place in range(count)])
    return known.take(pa.array(tracks))


def _queue(track: SliceTrack) -> str:
    """Return arguments by which HTA knows work of a device."""
    return f',"device":{track.device},"stream":{track.cuda_stream}' if track.kind == "queue" else ""


def _microseconds(times_ns: Array, behind: str) -> tuple[pa.Array, pa.Array]:
    """Return the parts of a decimal number, and what stands behind it."""
    fractions = pa.array([f".{nanoseconds:03}{behind}" for nanoseconds in range(NS_PER_US)])
    return pc.cast(pa.array(times_ns // NS_PER_US), pa.string()), fractions.take(pa.array(times_ns % NS_PER_US))


def _event(kind: str, name: str, pid: int, track: int, span: Span | None = None, **more: Any) -> dict[str, Any]:
    times = {} if span is None else {"ts": span.start_ns / NS_PER_US, "dur": (span.end_ns - span.start_ns) / NS_PER_US}
    return {"ph": kind, "name": name, "pid": pid, "tid": track, **times, **more}


def _counter_events(counter: Counter, pid: int) -> Iterator[dict[str, Any]]:
    for at_ns, value in counter.values:
        yield _event("C", counter.name, pid, 0, ts=at_ns / NS_PER_US, args={"value": value})


def _lines(events: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b",\n" for event in events)
