"""This file divides the wall time of the process that sets the pace: starting up, loop, evaluation, afterwards."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rlscope.analysis.sweep import ProcessSweep
from rlscope.analysis.table_rows import BreakdownRow
from rlscope.analysis.tables.loop import Loops, life_part
from rlscope.model import EVALUATION, NO_OPERATION, NO_PHASE, LifePart


@dataclass(frozen=True)
class Life:
    """The wall time of a process, from its start to its end, in parts that sum to it.

    Attributes:
        process: The process.
        wall_ns: Its wall time.
        starting_up_ns: Before its loop, in no operation and no phase: imports, building models and environments.
        loop_ns: In operations and phases, but for evaluation, and between them in the loop.
        evaluation_ns: In the phase `evaluation` beside its training, wherever that lies.
        afterwards_ns: After its loop, in no operation and no phase.
        unplaced_ns: In no operation and no phase where nothing shows when a loop begins or ends.
    """

    process: str
    wall_ns: int
    starting_up_ns: int
    loop_ns: int
    evaluation_ns: int
    afterwards_ns: int
    unplaced_ns: int


def life_of(process: ProcessSweep, loops: Loops) -> Life:
    """Return the parts of a process's wall time, as recorded."""
    found = process.found
    ticks = dict.fromkeys(LifePart, 0)
    for row in found.outside:
        ticks[life_part(row.part, process.name in loops.bounded)] += row.ticks
    if process.name in loops.training:
        ticks[LifePart.EVALUATION] = sum(row.ticks for row in found.breakdown if row.phase == EVALUATION)
    ticks[LifePart.LOOP] += found.end_ticks - found.start_ticks - sum(ticks.values())
    lengths = process.file.clock.partition_ns(found.start_ticks, ticks.values())
    return Life(process.name, sum(lengths), *lengths)


def loop_ticks(process: ProcessSweep, loops: Loops) -> Counter[tuple[str, str, str]]:
    """Return what of a process's time is in its loop, by stage, operation and category."""
    found = process.found
    ticks: Counter[tuple[str, str, str]] = Counter()
    for row in found.breakdown:
        is_outside = row.operation == NO_OPERATION and row.phase == NO_PHASE
        if not is_outside and (row.phase != EVALUATION or process.name not in loops.training):
            ticks[row.stage, row.operation, row.category] += row.ticks
    for between in found.outside:
        if life_part(between.part, process.name in loops.bounded) is LifePart.LOOP:
            ticks[NO_OPERATION, NO_OPERATION, between.category] += between.ticks
    return ticks


def rows_by_part(rows: Iterable[BreakdownRow], loops: Loops) -> Iterator[tuple[LifePart, BreakdownRow]]:
    """Yield what of each row of a breakdown is in which part of its process's life."""
    for row in rows:
        for part, share in loops.parts(row).items():
            yield part, row if share == 1 else _scaled(row, share)


def _scaled(row: BreakdownRow, share: float) -> BreakdownRow:
    """Return a share of a row."""
    corrected, low, high = (
        None if each is None else each * share
        for each in (row.corrected_seconds, row.corrected_low_s, row.corrected_high_s)
    )
    return replace(
        row, seconds=row.seconds * share, corrected_seconds=corrected, corrected_low_s=low, corrected_high_s=high
    )
