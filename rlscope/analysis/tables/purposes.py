"""The table of purposes: what each process's time was for, beside its stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rlscope.analysis.lines.swept import SweptStackTime
from rlscope.analysis.rows import Row, Rows, sums
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
#: The parts of a life of which more is to be told than that they are outside the loop.
WITH_PURPOSES = (LifePart.LOOP, LifePart.EVALUATION)


class PurposeRow(Row):
    """Time of a process for one purpose. Of a process the seconds, as recorded, sum to its `wall_s`.

    Attributes:
        process: The process.
        phase: Its phase, `(none)` outside all.
        part: The part of its life: `starting up`, `loop`, `evaluation`, `afterwards`, or `(no loop)`, as in `life`.
        purpose: `garbage_collection`, `import` or `compile` if one is open, the innermost; else `evaluation` in this
            phase; else the outermost open one of `callback`, `checkpoint`, `log` and `render`; else `training`. In no
            operation and no phase it is `starting_up` before the training loop, `afterwards` behind it, and `(none)`
            where nothing shows when a loop begins or ends.
        stage: The stage, `(none)` outside all.
        category: The layer of the stack.
        resource: The hardware at work, as in `breakdown`.
        seconds: How long.
    """

    process: str
    phase: str
    part: str
    purpose: str
    stage: str
    category: str
    resource: str
    seconds: float


def purpose_rows(swept: TraceSweep, loops: Loops) -> Rows[PurposeRow]:
    """Make the rows of `Analysis.purposes`: of each process those with most time first."""
    return Rows(PurposeRow, (row for process in swept.processes for row in _of_process(process, loops)))


def _of_process(process: ProcessSweep, loops: Loops) -> list[PurposeRow]:
    ticks: Counter[tuple[str, str, str, str, str, str]] = Counter()
    for row in process.found.purposes:
        part = part_of(row, process.name, loops)
        ticks[row.phase, part.value, purpose_of(row, part).value, row.stage, row.category, row.resource] += row.ticks
    keys = sorted(ticks, key=lambda key: (-ticks[key], key))
    lengths = process.file.clock.partition_ns(process.found.start_ticks, (ticks[key] for key in keys))
    return [PurposeRow(process.name, *key, ns / NS_PER_S) for key, ns in zip(keys, lengths, strict=True)]


def part_of(row: SweptPurpose | SweptStackTime, process: str, loops: Loops) -> LifePart:
    """Return in which part of its process's life a row lies."""
    if row.part:
        return life_part(row.part, process in loops.bounded)
    return LifePart.EVALUATION if loops.is_evaluation(process, row.phase) else LifePart.LOOP


def purpose_of(row: SweptPurpose | SweptStackTime, part: LifePart) -> Purpose:
    """Return what a row in this part of its process's life was for, as `PurposeRow` says it."""
    purpose = Purpose(row.purpose)
    if purpose.interrupts:
        return purpose
    if row.phase == EVALUATION:
        return Purpose.EVALUATION
    return OF_PART[part] if row.part else purpose


def seconds_beside_training(rows: Iterable[PurposeRow], process: str) -> dict[Purpose, float]:
    """Return the seconds of a process by purpose, the longest first; all that is outside its loop as that.

    Of 9 s of importing, in which 1 s of garbage was collected, and 3 s of a loop, in which it was 1 s as well, 9 s are
    for starting up, 2 s for training and 1 s is for garbage collection.
    """
    seconds = sums(
        (Purpose(row.purpose) if row.part in WITH_PURPOSES else OF_PART[LifePart(row.part)], row.seconds)
        for row in rows
        if row.process == process
    )
    return dict(sorted(seconds.items(), key=lambda each: -each[1]))
