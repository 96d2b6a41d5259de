"""This file reads what the machine reported while a run was recorded: `utilization.csv`, sampled beside the trace."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rlscope.errors import TraceError, TraceFormatError
from rlscope.trace.files import open_regular
from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME
from rlscope.trace.utilization_file import PROCESSES as PROCESSES

BIN_COLUMNS = ("source", "seconds", "utilization", "memory_bytes")
#: Later times and larger values than any machine has are damage.
LIMIT = 1 << 62
#: Eight devices write less in a week.
MOST_BYTES, MOST_SAMPLES = 1 << 32, 1 << 26
#: No machine has as many devices; samples of further ones are damage.
MOST_SOURCES = 1000
#: A file with more damaged lines is none of samples.
MOST_DAMAGED = 1000
#: So much is read at once, and on to the end of the line if that is not further than so many bytes.
BLOCK_BYTES, LINE_BYTES = 1 << 20, 1 << 12
_SAMPLE = re.compile(rb"[0-9]{1,18},[^,\r]+,[0-9]{1,18}(?:\.[0-9]{1,18})?(?:e[+-]?[0-9]{1,3})?,[0-9]{0,18}")
_COLUMNS = HEADER.split(",")
_TYPES = (pa.int64(), pa.binary(), pa.float64(), pa.float64())
_READ = csv.ReadOptions(column_names=_COLUMNS, use_threads=False, block_size=2 * BLOCK_BYTES)
_PARSE = csv.ParseOptions(quote_char=False)
_CONVERT = csv.ConvertOptions(column_types=dict(zip(_COLUMNS, _TYPES, strict=True)), null_values=[""])


def read_utilization(directory: Path, last_bytes: int | None = None) -> pd.DataFrame:
    """Return the samples that were taken while the trace in `directory` was recorded.

    Args:
        directory: the trace.
        last_bytes: so many of the file are read, all of them with None: those of a run that goes on become ever more.

    Returns:
        One row per sample, by source and time: `monotonic_ns`; `source`, a device's uuid or "processes"; `utilization`
        since the sample before: of a device the reported share of time from 0 to 1, of the processes the number of
        cores that they kept busy; `memory_bytes`, NaN where it is unknown. Empty where nothing was sampled.
        `attrs["damaged_lines"]` says how many lines were left out because they are no samples.

    Raises:
        TraceError: the file may not be read.
        TraceFormatError: it is no regular file, or too large or too damaged to be one of samples.
    """
    path = directory / UTILIZATION_NAME
    samples = _Samples()
    try:
        with open_regular(path, MOST_BYTES) as file:
            for block in _blocks(file, last_bytes):
                samples.add(block)
                if samples.damaged_lines > MOST_DAMAGED or samples.count > MOST_SAMPLES:
                    raise TraceFormatError(
                        f"at most {MOST_SAMPLES:,} samples and {MOST_DAMAGED:,} damaged lines were expected in {path}, "
                        "but it has more; delete it and analyze again"
                    )
    except FileNotFoundError:
        pass
    except OSError as error:
        raise TraceError(f"the samples of utilisation could not be read: {error}; make them readable") from error
    return samples.table()


def _blocks(file: BinaryIO, last_bytes: int | None) -> Iterator[bytes]:
    """Yield the file in parts of whole lines, without its header. A line that is too long, or cut off, ends a part."""
    first = file.readline(LINE_BYTES)
    if first.rstrip(b"\n") != HEADER.encode():
        yield first
    if last_bytes is not None and file.seek(0, os.SEEK_END) > last_bytes:
        file.seek(-last_bytes, os.SEEK_END)
        file.readline(LINE_BYTES)  # of which the beginning may be missing
    elif last_bytes is not None:
        file.seek(len(first))
    while block := file.read(BLOCK_BYTES) + file.readline(LINE_BYTES):
        yield block


class _Samples:
    """The samples of a file, in memory that goes with their number.

    Attributes:
        count: how many there are.
        damaged_lines: how many other lines there are.
    """

    def __init__(self) -> None:
        self.count = 0
        self.damaged_lines = 0
        self._sources: dict[bytes, int] = {}
        self._parts: list[tuple[npt.NDArray[np.generic], ...]] = []

    def add(self, block: bytes) -> None:
        """Take the samples out of some lines."""
        lines, _, cut_off = block.rpartition(b"\n")  # within a number: what is left may look like one
        rows = [row for row in lines.split(b"\n") if row]
        before = self.count
        if (table := None if b"\r" in lines else _converted(rows)) is None:
            table = _converted([row for row in rows if _SAMPLE.fullmatch(row)])
        if table is not None:
            self._take(table)
        self.damaged_lines += len(rows) - (self.count - before) + (cut_off != b"")

    def _take(self, table: pa.Table) -> None:
        times, names, utilization, memory = (column.combine_chunks() for column in table.columns)
        is_known = memory.is_valid().to_numpy(zero_copy_only=False)
        names = names.dictionary_encode()
        codes = np.array([self._code(name) for name in names.dictionary.to_pylist()], dtype=np.int16)
        part = (
            pc.fill_null(times, -1).to_numpy(zero_copy_only=False),
            codes[names.indices.to_numpy()],
            pc.fill_null(utilization, -1.0).to_numpy(zero_copy_only=False),
            memory.to_numpy(zero_copy_only=False),
        )
        is_valid = part[1] >= 0
        for values in (part[0], part[2], np.where(is_known, part[3], 0.0)):
            is_valid &= (values >= 0) & (values <= LIMIT)
        self._parts.append(tuple(values[is_valid] for values in part))
        self.count += int(is_valid.sum())

    def _code(self, name: bytes) -> int:
        """Return the number of a source; -1 where there are too many, or it has no name."""
        if not name or (name not in self._sources and len(self._sources) == MOST_SOURCES):
            return -1
        return self._sources.setdefault(name, len(self._sources))

    def table(self) -> pd.DataFrame:
        """Return the samples as `read_utilization` returns them."""
        names = np.array([name.decode("utf-8", "replace") for name in self._sources], dtype=object)
        columns = [np.concatenate(values) for values in zip(*self._parts, strict=True)] if self._parts else [
            np.array([], dtype) for dtype in (np.int64, np.int16, float, float)
        ]  # fmt: skip
        ranks = np.argsort(np.argsort(names))
        order = np.lexsort((columns[0], ranks[columns[1]]))
        times, codes, utilization, memory = (values[order] for values in columns)
        table = pd.DataFrame(dict(zip(_COLUMNS, (times, names[codes], utilization, memory), strict=True)))
        table.attrs["damaged_lines"] = self.damaged_lines
        return table


def _converted(rows: Sequence[bytes]) -> pa.Table | None:
    """Return None where one of them is none of four columns of the right kinds, or there is none."""
    try:
        return csv.read_csv(
            pa.py_buffer(b"\n".join(rows)), read_options=_READ, parse_options=_PARSE, convert_options=_CONVERT
        )
    except pa.ArrowInvalid:
        return None


def mean_utilization(table: pd.DataFrame, start_ns: int, end_ns: int) -> dict[str, float]:
    """Return the mean reported utilisation of each device, by uuid, between two times of CLOCK_MONOTONIC.

    Each sample counts for the time since the one before it. Of a device's samples at 0 s, 1 s and 4 s with 0.5, 0.2 and
    0.6 the mean from 0 s to 4 s is (1 * 0.2 + 3 * 0.6) / 4 = 0.5. Devices without a sample there are left out.

    Args:
        table: as from `read_utilization`.
        start_ns: the first of the times.
        end_ns: the second.
    """
    means = {}
    devices = table[table["source"] != PROCESSES]
    for source, (share,) in utilization_in_parts(devices, np.array([start_ns, end_ns])).items():
        if np.isnan(share):  # a run so short that there was one sample
            is_here = (table["source"] == source) & table["monotonic_ns"].between(start_ns, end_ns)
            share = table.loc[is_here, "utilization"].mean()
        if not np.isnan(share):
            means[source] = float(share)
    return means


def utilization_in_parts(table: pd.DataFrame, borders_ns: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.float64]]:
    """Return the mean utilisation in each part of a run, by device's uuid or "processes"; NaN where it was not sampled.

    Args:
        table: as from `read_utilization`. Each sample counts for the time since the one before it.
        borders_ns: of the parts, one more than there are parts, in order; on CLOCK_MONOTONIC.
    """
    found = {}
    for source, samples in table.groupby("source", sort=True):
        times_ns = samples["monotonic_ns"].to_numpy()
        since_ns = times_ns - times_ns[0]
        lengths_ns = np.diff(since_ns, prepend=0)
        sums = np.cumsum(samples["utilization"].to_numpy() * lengths_ns)
        covered_ns = np.clip(borders_ns - times_ns[0], 0, since_ns[-1])
        sampled_ns = np.diff(covered_ns)
        sampled = np.diff(np.interp(covered_ns, since_ns, sums))
        found[str(source)] = np.where(sampled_ns > 0, sampled / np.maximum(sampled_ns, 1), np.nan)
    return found


def binned_utilization(table: pd.DataFrame, bins: int) -> pd.DataFrame:
    """Return the samples in equal parts of the time that they span, for a figure.

    Args:
        table: as from `read_utilization`.
        bins: how many parts at most.

    Returns:
        One row per source and part in which it has samples: `source`; `seconds` since the first sample of all, the
        middle of the part; the mean `utilization` of the samples in it and the largest `memory_bytes`.
    """
    if table.empty:
        return pd.DataFrame(columns=list(BIN_COLUMNS))
    since_ns = table["monotonic_ns"] - table["monotonic_ns"].min()
    width_ns = max(int(since_ns.max()) // bins + 1, 1)
    parts = table.assign(part=since_ns // width_ns)
    binned = parts.groupby(["source", "part"], as_index=False).agg({"utilization": "mean", "memory_bytes": "max"})
    return binned.assign(seconds=(binned["part"] + 0.5) * width_ns / 1e9)[list(BIN_COLUMNS)]
