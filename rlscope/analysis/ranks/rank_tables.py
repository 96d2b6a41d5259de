"""This file makes all tables of ranks of a trace that was swept."""

from collections.abc import Sequence
from typing import NamedTuple

from rlscope.analysis.devices.devices import Device
from rlscope.analysis.ranks.kernels import kernels_of, where_waited
from rlscope.analysis.ranks.matching import Collective
from rlscope.analysis.ranks.rows import CollectiveRow, DeviceRankRow, RankRow, StragglerRow
from rlscope.analysis.ranks.stragglers import straggler_rows
from rlscope.analysis.ranks.tables import collective_rows, device_rank_rows, rank_rows
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.table_rows import BreakdownRow, ProcessRow, WaitRow


class RankTables(NamedTuple):
    """Names the tables as an analysis does."""

    collectives: Rows[CollectiveRow]
    ranks: Rows[RankRow]
    stragglers: Rows[StragglerRow]
    collective_kernels: Rows[CollectiveRow]
    device_ranks: Rows[DeviceRankRow]


def rank_tables(
    swept: TraceSweep,
    devices: list[Device],
    calls: Sequence[Collective],
    tables: tuple[Rows[ProcessRow], Rows[BreakdownRow], Rows[WaitRow]],
    recover: bool,
) -> RankTables:
    """Make the tables of ranks from the calls of communicators, their kernels, and three other tables.

    Raises:
        TraceError: a process file cannot be read.
    """
    processes, breakdown, waits = tables
    collectives = collective_rows(calls)
    kernels = kernels_of(swept, recover)
    return RankTables(
        collectives,
        rank_rows(processes, waits, collectives),
        straggler_rows(swept, where_waited(calls, kernels), processes, breakdown, waits),
        collective_rows(kernels),
        device_rank_rows(devices, kernels, processes),
    )
