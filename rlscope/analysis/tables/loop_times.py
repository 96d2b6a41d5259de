"""The table of the training loop's processor time: of each process by what it was for, and by stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rlscope.analysis.account.owner_path import OwnerPath
from rlscope.analysis.rows import Row, Rows, sums
from rlscope.analysis.table_rows import BreakdownRow, CpuTimeRow
from rlscope.analysis.tables.purposes import PurposeRow
from rlscope.model import Category, LifePart

#: The parts of a life in which a process trains, or evaluates what it trains.
_OF_LOOP = (LifePart.LOOP.value, LifePart.EVALUATION.value)
#: Layers in which a thread is on no processor.
OFF_PROCESSOR = (Category.WAIT.label, Category.NO_CORE.label)
#: Of a process, a phase and a stage: what of its seconds in layers that work was processor time without recording.
CpuShares = Mapping[tuple[str, str, str], float]


class LoopTimeRow(Row):
    """Processor time of a process in its training loop, evaluation included, without what recording added to it.

    Attributes:
        process: The process.
        purpose: What it was for, as in `purposes`.
        stage: The stage, `(none)` outside all.
        cpu_s: For how long threads that were in operations, or called functions that are recorded, were on a CPU.
    """

    process: str
    purpose: str
    stage: str
    cpu_s: float


def cpu_shares(
    purposes: Iterable[PurposeRow], breakdown: Iterable[BreakdownRow], cpu_times: Iterable[CpuTimeRow]
) -> CpuShares:
    """Return how the seconds in which a process worked become processor time, by process, phase and stage.

    Of 2 s in layers that work, in which its threads ran for 1.5 s by their clocks, and of which recording added 0.2 s,
    0.75 * 0.9 is left. Where no clock of a thread was read, a process ran while it worked.
    """
    busy_s = sums(
        ((row.process, row.phase, row.stage), row.seconds) for row in purposes if row.category not in OFF_PROCESSOR
    )
    added_s = sums(
        ((row.process, row.phase, row.stage), row.seconds - row.corrected_seconds)
        for row in breakdown
        if row.corrected_seconds is not None and row.category not in OFF_PROCESSOR
    )
    ran_s = sums(((row.process, row.phase, row.stage), row.cpu_s) for row in cpu_times)
    return {
        place: ran_s.get(place, seconds) / seconds * max(0.0, 1 - added_s.get(place, 0.0) / seconds)
        for place, seconds in busy_s.items()
        if seconds > 0
    }


def loop_time_rows(purposes: Sequence[PurposeRow], shares: CpuShares, path: OwnerPath | None) -> Rows[LoopTimeRow]:
    """Make the rows of `Analysis.loop_times`: of all processes those with most time first.

    Where nothing shows when a loop begins or ends, that of the process that paces the run is all of its time.
    """
    pacing = path.process if path is not None else ""
    seconds = sums(
        ((row.process, row.purpose, row.stage), row.seconds * shares[row.process, row.phase, row.stage])
        for row in purposes
        if (row.part in _OF_LOOP or (row.part == LifePart.UNPLACED and row.process == pacing))
        if row.category not in OFF_PROCESSOR and row.seconds > 0
    )
    found = (LoopTimeRow(*key, cpu_s) for key, cpu_s in seconds.items() if cpu_s > 0)
    return Rows(LoopTimeRow, sorted(found, key=lambda row: (-row.cpu_s, row.process, row.purpose, row.stage)))
