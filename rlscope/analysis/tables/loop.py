"""This file finds the training loop of each process: what of its time lies in it, before it and after it."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.table_rows import BreakdownRow, OutsideRow
from rlscope.model import EVALUATION, NO_OPERATION, NO_PHASE, NS_PER_S, LoopPart

#: The part of a process that has phases only: they do not say where its loop is.
NO_PHASE_PART = "no phase"


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
        evaluation_s: how long each process was in the phase `evaluation` beside its training; only those that were.
        left_out: the seconds of each process that are not in its loop, by part; evaluation is one.
        between: of its time in no operation and no phase the share in its loop, by process, category and resource.
    """

    processes: Set[str]
    training: Set[str]
    evaluation_s: Mapping[str, float]
    left_out: Mapping[str, Mapping[str, float]]
    between: Mapping[tuple[str, str, str], float]

    def has_evaluation(self, row: BreakdownRow) -> bool:
        """Return whether a row of a breakdown is of evaluation beside training.

        A process that shows nothing else has no training from which to tell it: then evaluation is what it is for.
        """
        return row.phase == EVALUATION and row.process in self.training

    def share(self, row: BreakdownRow) -> float:
        """Return the share of a row of a breakdown that lies in operations, in phases or between them in the loop.

        A row of evaluation has a share of 0, another one of an operation or a phase one of 1. Of 10 s of Python in
        neither, of which 6 lie before the loop and 4 in it, the share is 0.4.
        """
        if self.has_evaluation(row):
            return 0.0
        return 1.0 if is_named(row) else self.between.get((row.process, row.category, row.resource), 0.0)


def loops_of(breakdown: Iterable[BreakdownRow], outside: Sequence[OutsideRow]) -> Loops:
    """Find the loops of a run by two tables of it."""
    rows = [*breakdown]
    between = {row.process for row in outside if row.part == LoopPart.IN}
    training = between | {row.process for row in rows if is_named(row) and row.phase != EVALUATION}
    evaluated = [row for row in rows if row.phase == EVALUATION]
    evaluation_s = sums((row.process, row.seconds) for row in evaluated if row.process in training)
    whole_s = sums(((row.process, row.category, row.resource), row.seconds) for row in outside)
    between_s = sums(
        ((row.process, row.category, row.resource), row.seconds) for row in outside if row.part == LoopPart.IN
    )
    return Loops(
        processes=training | {row.process for row in evaluated},
        training=training,
        evaluation_s=evaluation_s,
        left_out=_left_out(rows, outside, evaluation_s),
        between={key: seconds / whole_s[key] for key, seconds in between_s.items() if whole_s[key] > 0},
    )


def _left_out(
    breakdown: Iterable[BreakdownRow], outside: Iterable[OutsideRow], evaluation_s: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    bounded = {row.process for row in breakdown if row.operation != NO_OPERATION and row.phase != EVALUATION}
    bounded |= {row.process for row in outside if row.part != LoopPart.BEFORE}
    found: dict[str, dict[str, float]] = {}
    for row in outside:
        if row.part != LoopPart.IN:
            parts = found.setdefault(row.process, {})
            name = row.part if row.process in bounded else NO_PHASE_PART
            parts[name] = parts.get(name, 0.0) + row.seconds
    for process, seconds in evaluation_s.items():
        found.setdefault(process, {})[EVALUATION] = seconds
    return found
