"""This file writes the slices of a run as one file of Arrow's IPC format, which readers map into memory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from rlscope.export.events import EVENTS, TEXTS, each_group
from rlscope.export.run import ExportRun


def write_arrow(run: ExportRun, path: Path) -> int:
    """Write the file, and return how many slices it has.

    Slices are gone through twice, because such a file names the texts of a column once, before its first row.
    """
    found: dict[str, dict[str, None]] = {name: {} for name in TEXTS}

    def collect(rows: pa.RecordBatch) -> None:
        for name, texts in found.items():
            texts.update(dict.fromkeys(rows.column(name).dictionary.to_pylist()))

    each_group(run, collect)
    known = {name: pa.array(texts, pa.string()) for name, texts in found.items()}
    with pa.ipc.new_file(path, EVENTS) as file:
        return each_group(run, lambda rows: file.write(_renumbered(rows, known)))


def _renumbered(rows: pa.RecordBatch, known: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return the rows with the numbers that the texts of each column have in the file."""
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    for name, texts in known.items():
        column = columns[name]
        numbers = pc.index_in(column.dictionary, texts).take(column.indices)
        columns[name] = pa.DictionaryArray.from_arrays(numbers, texts)
    return pa.record_batch(list(columns.values()), schema=EVENTS)
