"""This file makes the table of events, which has one row per slice: part by part, for files that hold columns."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from rlscope.analysis.sweep import ProcessSweep
from rlscope.export.columns import SliceColumns, each_part
from rlscope.export.run import ExportRun, track_name
from rlscope.outputs import MARK

#: As many rows are in memory at once, and are one group of the file.
GROUP_ROWS = 1 << 20
_TEXT = pa.dictionary(pa.int32(), pa.string())
EVENTS = pa.schema(
    [
        ("process", _TEXT), ("track", _TEXT), ("category", _TEXT), ("name", _TEXT), ("stage", _TEXT),
        ("operation", _TEXT), ("depth", pa.int32()), ("start_ns", pa.int64()), ("duration_ns", pa.int64()),
        ("flow", pa.uint64()),
    ],
    metadata={"writer": MARK},
)  # fmt: skip
#: The columns whose cells are numbers of texts.
TEXTS = tuple(field.name for field in EVENTS if field.type == _TEXT)
MEANINGS = {
    "process": "the process",
    "track": "its thread by name, its queue of device work, or tasks or collectives of a thread",
    "category": "the layer of a call, or operation, phase, kernel, copy, memset, task, collective",
    "name": "the function, operation or kernel",
    "stage": "the stage, `(none)` outside all",
    "operation": "the innermost operation, of device work that which launched it; empty outside all",
    "depth": "how many slices of the track enclose it",
    "start_ns": "nanoseconds from the start of the run",
    "duration_ns": "nanoseconds",
    "flow": "the same number for all ranks in a call of a communicator, else 0",
}


def each_group(run: ExportRun, use: Callable[[pa.RecordBatch], object]) -> int:
    """Give the rows of all processes to a function, a group at a time, and return how many there are."""
    return sum(_each_of_process(run, process, use) for process in run.processes)


def _each_of_process(run: ExportRun, process: ProcessSweep, use: Callable[[pa.RecordBatch], object]) -> int:
    found = each_part(run, process, GROUP_ROWS, lambda slices: use(_rows(slices, process)))
    return sum(track.slices for track in found.tracks)


def _rows(slices: SliceColumns, process: ProcessSweep) -> pa.RecordBatch:
    zeros = pa.array([0] * len(slices.tracks), pa.int32())
    of_process = pa.DictionaryArray.from_arrays(zeros, pa.array([process.name], pa.string()))
    tracks = slices.track_texts(lambda track: track_name(process, track))
    columns = [
        of_process, tracks, slices.kinds(), slices.names(), slices.stages(), slices.operations(),
        slices.depths, slices.starts_ns, slices.lengths_ns, slices.flows,
    ]  # fmt: skip
    return pa.record_batch([pa.array(column) for column in columns], schema=EVENTS)
