"""This file writes a run as a folder of Parquet files: one row per slice, all tables, and what they mean."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.rows import Rows
from rlscope.export import bins, events
from rlscope.export.bins import BINS, bins_of
from rlscope.export.events import EVENTS, TEXTS, each_group
from rlscope.export.json_schema import meanings_of
from rlscope.export.run import ExportRun
from rlscope.outputs import MARK

SCHEMA = "schema.md"


def write_parquet(run: ExportRun, folder: Path) -> int:
    """Write the files into a folder that is there, and return how many slices they have."""
    encoding = {name: "DELTA_BINARY_PACKED" for name in EVENTS.names if name not in TEXTS}
    with pq.ParquetWriter(
        folder / "events.parquet", EVENTS, compression="zstd", use_dictionary=list(TEXTS), column_encoding=encoding
    ) as file:
        slices = each_group(run, file.write)
    with pq.ParquetWriter(folder / "bins.parquet", BINS, compression="zstd") as file:
        for process in run.processes:
            file.write_table(bins_of(run, process))
    for name, rows in _tables(run):
        write_table(rows.table, folder / f"{name}.parquet")
    (folder / SCHEMA).write_text("".join(_schema(run)), encoding="utf-8", errors="replace")
    return slices


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as a Parquet file."""
    found = pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(found.replace_schema_metadata({**found.schema.metadata, "writer": MARK}), path)


def _tables(run: ExportRun) -> Iterator[tuple[str, Rows[Any]]]:
    for table in Analysis.tables():
        yield table.name, getattr(run.analysis, table.name)


def _schema(run: ExportRun) -> Iterator[str]:
    """Yield what each file holds: of tables as the classes of their rows say it."""
    yield f"# The files of this folder\n\n<!-- {MARK} -->\n\n"
    yield "Tables are of the whole run, and as recorded. Empty cells are not known.\n"
    yield f"\n## events.parquet\n\nOne row per slice.\n{_column_list(events.MEANINGS)}"
    yield f"\n## bins.parquet\n\nWhat processes did in equal parts of their lives.\n{_column_list(bins.MEANINGS)}"
    for name, rows in _tables(run):
        about = (inspect.getdoc(rows.row_class) or "").partition("Attributes:")[0]
        meanings = meanings_of(rows.row_class)
        known = {column: meanings.get(column, "") for column in rows.row_class.columns()}
        yield f"\n## {name}.parquet\n\n{about.strip()}\n{_column_list(known)}"


def _column_list(meanings: dict[str, str]) -> str:
    lines = [f"| `{name}` | {meaning} |\n" for name, meaning in meanings.items()]
    return "\n| column | holds |\n|---|---|\n" + "".join(lines)
