"""This file computes how much memory processes used, and whether that grew."""

import math

from rlscope.analysis.memory.growth import growth_of
from rlscope.analysis.memory.rows import MemoryGrowthRow, MemoryRow
from rlscope.analysis.memory.swept import SweptMemorySeries
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.trace.format import MemoryOwner

OWNERS = {MemoryOwner.HOST: "host", MemoryOwner.PYTORCH: "PyTorch", MemoryOwner.JAX: "JAX"}


def memory_rows(swept: TraceSweep) -> Rows[MemoryRow]:
    """Make the rows of `Analysis.memory`: of each process by owner and device."""
    return Rows(
        MemoryRow,
        (
            MemoryRow(
                process.name, *_place(row.owner, row.device), row.stage, row.operation, row.samples, row.highest_bytes
            )
            for process in swept.processes
            for row in process.found.memory
        ),
    )


def memory_growth_rows(swept: TraceSweep) -> Rows[MemoryGrowthRow]:
    """Make the rows of `Analysis.memory_growth`: of each process by owner and device."""
    return Rows(
        MemoryGrowthRow,
        (_growth(process, series) for process in swept.processes for series in process.found.memory_series),
    )


def _growth(process: ProcessSweep, series: SweptMemorySeries) -> MemoryGrowthRow:
    points = [(ticks * process.seconds_per_tick, used, reports) for ticks, used, reports in series.points()]
    loop = process.found.loop
    begin_s = math.inf if loop is None else loop[0] * process.seconds_per_tick
    growth = growth_of([point for point in points if point[0] >= begin_s])
    of_process = (process.name, *_place(series.owner, series.device))
    ends = len(points), points[0][1], points[-1][1], series.peak_bytes
    if growth is None:
        return MemoryGrowthRow(*of_process, *ends, None, None, None, None, grows=False)
    return MemoryGrowthRow(
        *of_process, *ends, growth.bytes_per_s, growth.low_bytes_per_s, growth.high_bytes_per_s,
        growth.bytes_per_iteration, growth.grows,
    )  # fmt: skip


def _place(owner: int, device: int) -> tuple[str, int | None]:
    return OWNERS[MemoryOwner(owner)], None if owner == MemoryOwner.HOST else device
