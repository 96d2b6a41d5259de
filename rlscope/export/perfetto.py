"""This file writes a run for Perfetto's UI: a file of packets, one after the other, in memory that does not grow."""

from collections.abc import Callable
from itertools import count

from rlscope.analysis.detail.swept import SliceTrack
from rlscope.analysis.sweep import ProcessSweep
from rlscope.export import packets
from rlscope.export.run import ExportRun, thread_ids, timesteps, track_name
from rlscope.outputs import MARK

Write = Callable[[bytes], object]


def write_perfetto(run: ExportRun, write: Write) -> int:
    """Give the trace to `write`, part by part, and return how many slices of threads and devices it has."""
    write(packets.tracer(MARK))
    numbers = count(packets.SEQUENCE + 1)
    for counter in run.device_counters():
        uuid = next(numbers)
        write(packets.counter_track(uuid, 0, counter.name) + packets.counts(uuid, counter.values))
    return sum(_write_process(run, process, numbers, write) for process in run.processes)


def _write_process(run: ExportRun, process: ProcessSweep, numbers: "count[int]", write: Write) -> int:
    parent = next(numbers)
    write(packets.process_track(parent, run.process_ids[process.name], process.name))
    if phases := run.phases(process):
        uuid = next(numbers)
        write(packets.track(uuid, parent, "phases"))
        write(b"".join(packets.span(uuid, "phase", *phase) for phase in phases))
    if marks := [(span.end_ns, span.name) for span in run.iterations(process)]:
        uuid = next(numbers)
        write(packets.track(uuid, parent, "iterations") + packets.instants(uuid, "iteration", marks))
    first = next(numbers)
    found = run.slices.perfetto(process, first, write)
    for uuid, track in enumerate(found.tracks, first):
        write(_descriptor(run, process, uuid, parent, track))
    for _ in found.tracks[1:]:
        next(numbers)
    if steps := timesteps(found).values:
        uuid = next(numbers)
        write(packets.counter_track(uuid, parent, "timesteps") + packets.counts(uuid, steps))
    return sum(track.slices for track in found.tracks)


def _descriptor(run: ExportRun, process: ProcessSweep, uuid: int, parent: int, track: SliceTrack) -> bytes:
    name = track_name(process, track)
    if track.kind == "thread":
        return packets.thread_track(uuid, run.process_ids[process.name], thread_ids(process)[track.stream], name)
    return packets.track(uuid, parent, name)
