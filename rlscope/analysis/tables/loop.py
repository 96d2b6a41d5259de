"""This file finds the training loop of each process: what of its time lies in it, before it and after it."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.table_rows import BreakdownRow, OutsideRow
from rlscope.model import EVALUATION, NO_OPERATION, NO_PHASE, NS_PER_S, LifePart, LoopPart


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
        return row.phase == EVALUATION and row.process in self.training

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
    bounded = {row.process for row in rows if row.operation != NO_OPERATION and row.phase != EVALUATION}
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
