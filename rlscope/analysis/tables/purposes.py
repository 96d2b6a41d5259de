"""The table of purposes: what each process's time was for, beside its stages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.swept import SweptPurpose
from rlscope.analysis.tables.loop import Loops, life_part
from rlscope.model import EVALUATION, NS_PER_S, LifePart, Purpose

#: Of time in no operation and no phase that nothing else says anything of.
OF_PART = {
    LifePart.STARTING_UP: Purpose.STARTING_UP,
    LifePart.LOOP: Purpose.TRAINING,
    LifePart.AFTERWARDS: Purpose.AFTERWARDS,
    LifePart.UNPLACED: Purpose.UNPLACED,
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PurposeRow(Row):
    """Time of a process for one purpose. Of a process the seconds, as recorded, sum to its `wall_s`.

    Attributes:
        process: The process.
        phase: Its phase, `(none)` outside all.
        purpose: `garbage_collection`, `import` or `compile` if one is open, the innermost; else `evaluation` in this
            phase; else the outermost open one of `callback`, `checkpoint`, `log` and `render`; else `training`. In no
            operation and no phase it is `starting_up` before the training loop, `afterwards` behind it, and `(none)`
            where nothing shows when a loop begins or ends.
        stage: The stage, `(none)` outside all.
        category: The layer of the stack.
        seconds: How long.
    """

    process: str
    phase: str
    purpose: str
    stage: str
    category: str
    seconds: float


def purpose_rows(swept: TraceSweep, loops: Loops) -> Rows[PurposeRow]:
    """Make the rows of `Analysis.purposes`: of each process those with most time first."""
    return Rows(PurposeRow, (row for process in swept.processes for row in _of_process(process, loops)))


def _of_process(process: ProcessSweep, loops: Loops) -> list[PurposeRow]:
    ticks: Counter[tuple[str, str, str, str]] = Counter()
    for row in process.found.purposes:
        purpose = _purpose_of(row, is_bounded=process.name in loops.bounded)
        ticks[row.phase, purpose.value, row.stage, row.category] += row.ticks
    keys = sorted(ticks, key=lambda key: (-ticks[key], key))
    lengths = process.file.clock.partition_ns(process.found.start_ticks, (ticks[key] for key in keys))
    return [PurposeRow(process.name, *key, ns / NS_PER_S) for key, ns in zip(keys, lengths, strict=True)]


def _purpose_of(row: SweptPurpose, is_bounded: bool) -> Purpose:
    purpose = Purpose(row.purpose)
    if purpose.interrupts:
        return purpose
    if row.phase == EVALUATION:
        return Purpose.EVALUATION
    return OF_PART[life_part(row.part, is_bounded)] if row.part else purpose
