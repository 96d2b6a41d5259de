"""This file finds the training loop of each process, and which part of its life lies in it, before it and after it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.swept import SweptWait
from rlscope.analysis.table_rows import BreakdownRow, OutsideRow
from rlscope.model import EVALUATION, NO_OPERATION, NO_PHASE, NOT_OF_LOOP, NS_PER_S, LifePart, LoopPart


def outside_rows(swept: TraceSweep) -> Rows[OutsideRow]:
    """Make the rows of `Analysis.outside`: the time in no operation and no phase, by part."""
    return Rows(
        OutsideRow,
        (
            OutsideRow(process.name, row.part, row.category, row.resource, process.length_ns(row.ticks) / NS_PER_S)
            for process in swept.processes
            for row in process.found.outside
        ),
    )


def is_named(row: BreakdownRow) -> bool:
    """Return whether a row of a breakdown is of an operation or of a phase."""
    return row.operation != NO_OPERATION or row.phase != NO_PHASE


@dataclass(frozen=True)
class Loops:
    """These are the places of the training loops of a run.

    Attributes:
        processes: those that show where their loop is: by operations, phases or reports of progress.
        training: those of them that show something else than evaluation.
        bounded: those of them whose loop has a begin and an end; that of others may lie anywhere in no phase.
        evaluation_s: how long each process was in the phase `evaluation` beside its training; only those that were.
        left_out: the seconds of each process that are not in its loop, by part; evaluation is one.
        outside: of its time in no operation and no phase the share in each part, by process, category and resource; and
            of all of it, by process.
    """

    processes: Set[str]
    training: Set[str]
    bounded: Set[str]
    evaluation_s: Mapping[str, float]
    left_out: Mapping[str, Mapping[LifePart, float]]
    outside: Mapping[tuple[str, ...], Mapping[LifePart, float]]

    def has_evaluation(self, row: BreakdownRow) -> bool:
        """Return whether a row of a breakdown is of evaluation beside training.

        A process that shows nothing else has no training from which to tell it: then evaluation is what it is for.
        """
        return self.is_evaluation(row.process, row.phase)

    def is_evaluation(self, process: str, phase: str) -> bool:
        """Return whether a phase of a process is evaluation beside training."""
        return phase == EVALUATION and process in self.training

    def wait_ticks(self, process: str, wait: SweptWait) -> int:
        """Return how much of what a process waited in is in its loop, in ticks."""
        if wait.phase == NO_PHASE:
            return wait.in_loop_ticks
        return 0 if self.is_evaluation(process, wait.phase) else wait.ticks

    def parts(self, row: BreakdownRow) -> Mapping[LifePart, float]:
        """Return which shares of a row of a breakdown lie in which part of its process's life; they sum to 1.

        What is in an operation or a phase is in the loop, unless it is evaluation. Of 10 s of Python in neither, of
        which 6 lie before the loop and 4 in it, the shares are 0.6 of starting up and 0.4 of the loop.
        """
        if self.has_evaluation(row):
            return {LifePart.EVALUATION: 1.0}
        if is_named(row):
            return {LifePart.LOOP: 1.0}
        # What is there by correction alone lies as the rest does.
        known = self.outside.get((row.process, row.category, row.resource)) or self.outside.get((row.process,))
        return known or {LifePart.UNPLACED: 1.0}

    def share(self, row: BreakdownRow) -> float:
        """Return the share of a row of a breakdown that lies in operations, in phases or between them in the loop."""
        return self.parts(row).get(LifePart.LOOP, 0.0)


def loops_of(breakdown: Iterable[BreakdownRow], outside: Sequence[OutsideRow]) -> Loops:
    """Find the loops of a run by two tables of it."""
    rows = [*breakdown]
    between = {row.process for row in outside if row.part == LoopPart.IN}
    training = between | {row.process for row in rows if is_named(row) and row.phase != EVALUATION}
    evaluated = [row for row in rows if row.phase == EVALUATION]
    evaluation_s = sums((row.process, row.seconds) for row in evaluated if row.process in training)
    bounded = {row.process for row in rows if row.operation not in NOT_OF_LOOP and row.phase != EVALUATION}
    bounded |= {row.process for row in outside if row.part != LoopPart.BEFORE}
    left_out: dict[str, dict[LifePart, float]] = {}
    seconds: dict[tuple[str, ...], dict[LifePart, float]] = {}
    for row in outside:
        part = life_part(row.part, row.process in bounded)
        groups = [seconds.setdefault(key, {}) for key in ((row.process, row.category, row.resource), (row.process,))]
        if part is not LifePart.LOOP:
            groups.append(left_out.setdefault(row.process, {}))
        for group in groups:
            group[part] = group.get(part, 0.0) + row.seconds
    for process, evaluation in evaluation_s.items():
        left_out.setdefault(process, {})[LifePart.EVALUATION] = evaluation
    return Loops(
        processes=training | {row.process for row in evaluated},
        training=training,
        bounded=bounded,
        evaluation_s=evaluation_s,
        left_out=left_out,
        outside={key: shares for key, of_part in seconds.items() if (shares := _shares(of_part))},
    )


def life_part(part: str, is_bounded: bool) -> LifePart:
    """Return the part of a process's life that time in no operation and no phase is in; `part` is a `LoopPart`."""
    if not is_bounded:
        return LifePart.UNPLACED
    return {
        LoopPart.BEFORE: LifePart.STARTING_UP, LoopPart.IN: LifePart.LOOP, LoopPart.AFTER: LifePart.AFTERWARDS,
    }[LoopPart(part)]  # fmt: skip


def _shares(of_part: Mapping[LifePart, float]) -> dict[LifePart, float]:
    whole_s = sum(of_part.values())
    return {part: seconds / whole_s for part, seconds in of_part.items()} if whole_s > 0 else {}


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
        if not is_outside and not loops.is_evaluation(process.name, row.phase):
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
