"""Counts of a run, and what two sides count differently: a busy machine changes times, but not how often is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean
from typing import NamedTuple

from rlscope.analysis.analysis import Analysis
from rlscope.analysis.detail.swept import SweptFunction
from rlscope.model import EVALUATION, NO_OPERATION, Purpose

#: Of collections only those of 0.1 ms or more are recorded, so how many depends on the machine.
UNCOUNTED = (NO_OPERATION, Purpose.GARBAGE_COLLECTION)


class Counted(str, Enum):
    """This says what is counted."""

    OPERATIONS = "operations"
    CALLS = "calls"  # of functions of other layers, in operations
    CROSSINGS = "crossings"  # between layers, in the loop
    MESSAGES = "messages"  # that the process wrote
    MESSAGE_BYTES = "bytes in messages"  # and in those that it read
    KERNELS = "kernels"  # and copies, of devices
    COPIED_BYTES = "bytes copied"  # by devices

    @property
    def is_bytes(self) -> bool:
        """Return whether these are bytes, of which there are many more than of anything else."""
        return self in (Counted.MESSAGE_BYTES, Counted.COPIED_BYTES)


class Count(NamedTuple):
    """A count names something that is counted, in one place of the program; with empty names all of it.

    Attributes:
        counted: What it is.
        stage: The stage.
        name: The operation, function or kernel.
    """

    counted: Counted
    stage: str = ""
    name: str = ""


@dataclass(frozen=True)
class CountRow:
    """A row says how much both sides count of one thing.

    Attributes:
        count: What is counted.
        base: The numbers of the base's runs, per iteration, or what else the unit of the sides is.
        other: Those of the other side's runs.
    """

    count: Count
    base: tuple[float, ...]
    other: tuple[float, ...]

    @property
    def means(self) -> tuple[float, float]:
        """Return the mean of the base, and of the other side."""
        return fmean(self.base), fmean(self.other)

    @property
    def is_apart(self) -> bool:
        """Return whether all runs of one side count more than all of the other."""
        return max(self.base) < min(self.other) or max(self.other) < min(self.base)

    def is_above(self, percent: float) -> bool:
        """Return whether all runs of the other side count more than any of the base, by more than so many percent."""
        return min(self.other) > max(self.base) * (1 + percent / 100)

    def differs_by(self, percent: float) -> bool:
        """Return whether the sides are apart, and by more than so many percent of the smaller number."""
        low, high = sorted(self.means)
        return self.is_apart and high > low * (1 + percent / 100)


def counts_of(process: str, functions: Sequence[SweptFunction], crossings: int, analysis: Analysis) -> dict[Count, int]:
    """Return what a run counts in its operations, evaluation left out where that is known.

    Args:
        process: The process that paces it.
        functions: What that process called.
        crossings: How often it went from one layer into another in its loop.
        analysis: Of the run.
    """
    found: Counter[Count] = Counter({Count(Counted.CROSSINGS): crossings})
    for row in analysis.cpu_times:
        is_training = row.operation not in UNCOUNTED and row.phase != EVALUATION
        if row.process == process and is_training:
            found[Count(Counted.OPERATIONS, row.stage, row.operation)] += row.count
    for function in functions:
        if function.function and function.operation != NO_OPERATION:
            found[Count(Counted.CALLS, function.stage, function.function)] += function.calls
    for message in analysis.messages:
        if message.process == process:
            # Of one message it depends on the machine how often it is read from.
            found[Count(Counted.MESSAGES, message.stage, message.operation)] += message.count * message.is_sent
            found[Count(Counted.MESSAGE_BYTES, message.stage, message.operation)] += message.bytes
    for work in analysis.device_work:
        if work.process == process:
            found[Count(Counted.KERNELS, work.stage, work.name)] += work.count
            found[Count(Counted.COPIED_BYTES, work.stage, work.name)] += work.bytes
    for count, number in list(found.items()):
        if count.name:
            found[Count(count.counted)] += number
    return {count: number for count, number in found.items() if number}


def compared_counts(base: Sequence[Mapping[Count, float]], other: Sequence[Mapping[Count, float]]) -> list[CountRow]:
    """Return what the runs of two sides count: all of each kind first, and then what differs most.

    Args:
        base: Of each run its counts per iteration, or what else the unit is.
        other: Those of the other side's runs.
    """
    counts = dict.fromkeys(count for run in (*base, *other) for count in run)
    rows = [
        CountRow(count, tuple(run.get(count, 0.0) for run in base), tuple(run.get(count, 0.0) for run in other))
        for count in counts
    ]
    order = {counted: place for place, counted in enumerate(Counted)}
    totals = sorted((row for row in rows if not row.count.name), key=lambda row: order[row.count.counted])
    places = [row for row in rows if row.count.name]
    places.sort(key=lambda row: (row.count.counted.is_bytes, -abs(row.means[1] - row.means[0])))
    return [*totals, *places]
