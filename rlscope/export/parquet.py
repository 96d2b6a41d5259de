"""This file writes a run as a folder of Parquet files: one row per slice, all tables, and what they mean."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import ProcessSweep
from rlscope.export.columns import SliceColumns, each_part
from rlscope.export.json_schema import meanings_of
from rlscope.export.run import ExportRun, track_name

#: As many rows are in memory at once, and are one group of the file.
GROUP_ROWS = 1 << 20
SCHEMA = "schema.md"
_TEXT = pa.dictionary(pa.int32(), pa.string())
EVENTS = pa.schema(
    [
        ("process", _TEXT), ("track", _TEXT), ("category", _TEXT), ("name", _TEXT), ("stage", _TEXT),
        ("operation", _TEXT), ("depth", pa.int32()), ("start_ns", pa.int64()), ("duration_ns", pa.int64()),
        ("flow", pa.uint64()),
    ]
)  # fmt: skip
_MEANINGS = {
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


def write_parquet(run: ExportRun, folder: Path) -> int:
    """Write the files into a folder that is there, and return how many slices they have."""
    numbers = ("depth", "start_ns", "duration_ns", "flow")
    encoding = dict.fromkeys(numbers, "DELTA_BINARY_PACKED")
    texts = [name for name in EVENTS.names if name not in numbers]
    with pq.ParquetWriter(
        folder / "events.parquet", EVENTS, compression="zstd", use_dictionary=texts, column_encoding=encoding
    ) as file:
        slices = sum(_write_process(run, process, file) for process in run.processes)
    for name, rows in _tables(run):
        rows.table.to_parquet(folder / f"{name}.parquet", index=False)
    (folder / SCHEMA).write_text("".join(_schema(run)), encoding="utf-8", errors="replace")
    return slices


def _write_process(run: ExportRun, process: ProcessSweep, file: pq.ParquetWriter) -> int:
    found = each_part(run, process, GROUP_ROWS, lambda slices: file.write(_rows(slices, process)))
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


def _tables(run: ExportRun) -> Iterator[tuple[str, Rows[Any]]]:
    for field in fields(run.analysis):
        rows = getattr(run.analysis, field.name)
        if isinstance(rows, Rows):
            yield field.name, rows


def _schema(run: ExportRun) -> Iterator[str]:
    """Yield what each file holds: of tables as the classes of their rows say it."""
    yield "# The files of this folder\n\nTables are of the whole run, and as recorded. Empty cells are not known.\n"
    yield f"\n## events.parquet\n\nOne row per slice.\n{_column_list(_MEANINGS)}"
    for name, rows in _tables(run):
        about = (inspect.getdoc(rows.row_class) or "").partition("Attributes:")[0]
        meanings = meanings_of(rows.row_class)
        known = {column: meanings.get(column, "") for column in rows.row_class.columns()}
        yield f"\n## {name}.parquet\n\n{about.strip()}\n{_column_list(known)}"


def _column_list(meanings: dict[str, str]) -> str:
    lines = [f"| `{name}` | {meaning} |\n" for name, meaning in meanings.items()]
    return "\n| column | holds |\n|---|---|\n" + "".join(lines)
