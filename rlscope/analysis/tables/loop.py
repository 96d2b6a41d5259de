"""This file finds the training loop of each process: what of its time lies in it, before it and after it."""

from collections.abc import Iterable, Sequence

from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.sweep import NS_PER_S, TraceSweep
from rlscope.analysis.table_rows import BreakdownRow, OutsideRow
from rlscope.model import EVALUATION, NO_OPERATION, NO_PHASE

#: Parts of a process's time in no operation.
BEFORE, BETWEEN, AFTER = "before", "in", "after"
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


def is_evaluation(breakdown: Sequence[BreakdownRow], outside: Iterable[OutsideRow]) -> list[bool]:
    """Say of each row of a breakdown whether it is of evaluation beside training.

    A process that shows nothing else has no training from which to tell it: then evaluation is what it is for.
    """
    training = with_loops((row for row in breakdown if row.phase != EVALUATION), outside)
    return [row.phase == EVALUATION and row.process in training for row in breakdown]


def evaluation_seconds(breakdown: Sequence[BreakdownRow], outside: Iterable[OutsideRow]) -> dict[str, float]:
    """Return how long each process evaluated beside its training; only those that did."""
    flagged = zip(breakdown, is_evaluation(breakdown, outside), strict=True)
    return sums((row.process, row.seconds) for row, is_it in flagged if is_it)


def left_out(breakdown: Sequence[BreakdownRow], outside: Sequence[OutsideRow]) -> dict[str, dict[str, float]]:
    """Return the seconds of each process that are not in its loop, by part; evaluation is one."""
    bounded = {row.process for row in breakdown if row.operation != NO_OPERATION and row.phase != EVALUATION}
    bounded |= {row.process for row in outside if row.part != BEFORE}
    found: dict[str, dict[str, float]] = {}
    for row in outside:
        if row.part != BETWEEN:
            parts = found.setdefault(row.process, {})
            name = row.part if row.process in bounded else NO_PHASE_PART
            parts[name] = parts.get(name, 0.0) + row.seconds
    for process, seconds in evaluation_seconds(breakdown, outside).items():
        found.setdefault(process, {})[EVALUATION] = seconds
    return found


def with_loops(breakdown: Iterable[BreakdownRow], outside: Iterable[OutsideRow]) -> set[str]:
    """Return the processes that show where their loop is: by operations, phases or report of progress."""
    return {row.process for row in breakdown if is_named(row)} | {row.process for row in outside if row.part == BETWEEN}


def loop_shares(breakdown: Sequence[BreakdownRow], outside: Sequence[OutsideRow]) -> list[float]:
    """Return the share of each row of a breakdown that lies in operations, in phases or between them in the loop.

    Rows of evaluation have a share of 0, other ones of operations and phases one of 1. Of 10 s of Python in neither, of
    which 6 lie before the loop and 4 in it, the share is 0.4.

    Args:
        breakdown: Rows of an analysis.
        outside: Its rows of the same name.
    """
    whole_s = sums(((row.process, row.category, row.resource), row.seconds) for row in outside)
    between_s = sums(((row.process, row.category, row.resource), row.seconds) for row in outside if row.part == BETWEEN)
    shares = {key: seconds / whole_s[key] for key, seconds in between_s.items() if whole_s[key] > 0}
    return [
        0.0 if is_left_out else 1.0 if is_named(row) else shares.get((row.process, row.category, row.resource), 0.0)
        for row, is_left_out in zip(breakdown, is_evaluation(breakdown, outside), strict=True)
    ]
