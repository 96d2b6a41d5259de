"""This file makes the table of what a process did in equal parts of its life, from the bins of the sweep."""

from __future__ import annotations

from array import array

import numpy as np
import pyarrow as pa

from rlscope.analysis.sweep import ProcessSweep
from rlscope.analysis.tables.calls import detail_of
from rlscope.export.run import ExportRun
from rlscope.model import NS_PER_S
from rlscope.outputs import MARK

_OF_SERIES = ("stage", "operation", "category", "resource")
BINS = pa.schema(
    [
        ("process", pa.string()), ("bin", pa.int32()), ("start_s", pa.float64()), ("end_s", pa.float64()),
        *((name, pa.string()) for name in _OF_SERIES), ("seconds", pa.float64()),
    ],
    metadata={"writer": MARK},
)  # fmt: skip
MEANINGS = {
    "process": "the process",
    "bin": "the number of the part of its life, from 0; all parts are equally long, but the last one may be shorter",
    "start_s": "when the part begins, in seconds from the start of the run",
    "end_s": "when it ends",
    "stage": "the stage of the operation",
    "operation": "the operation that was innermost",
    "category": "the layer",
    "resource": "what worked meanwhile",
    "seconds": "the process's time in that during the part; of a part the seconds sum to its length",
}


def bins_of(run: ExportRun, process: ProcessSweep) -> pa.Table:
    """Return the rows of a process: for each part of its life, one for each thing that it did there."""
    detail, life = detail_of(process), (process.found.start_ticks, process.found.end_ticks)
    inner = (ticks for ticks in array("Q", detail.borders) if ticks < life[1])
    borders_s = np.array([run.slices.time_ns(process, ticks) for ticks in (life[0], *inner, life[1])]) / NS_PER_S
    numbers, series = np.frombuffer(detail.bins, "<i4"), np.frombuffer(detail.bin_series, "<i4")
    return pa.table(
        {
            "process": pa.repeat(process.name, len(numbers)),
            "bin": numbers,
            "start_s": borders_s[numbers],
            "end_s": borders_s[numbers + 1],
            **{
                name: pa.array((getattr(row, name) for row in detail.series), pa.string()).take(series)
                for name in _OF_SERIES
            },
            "seconds": np.frombuffer(detail.bin_ticks, "<u8") * process.seconds_per_tick,
        },
        BINS,
    )
