"""The breakdown as a tree of processes, phases, stages, operations and layers, with small branches folded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rlscope.analysis.run_tables import RunTables
from rlscope.analysis.table_rows import BreakdownRow
from rlscope.model import NO_OPERATION, NO_PHASE, STAGES, Resource

#: Branches with a smaller share of their process's time are folded into one, but not the stages of training.
LEAST_SHARE = 0.01
#: As many processes are shown, those longest in operations.
MOST_PROCESSES = 12
NOTHING_OPEN = {"phase": "(no phase)", "stage": "(no stage)", "operation": "(no operation)"}
#: What a layer is where nothing is said of the hardware, because it is as one expects.
_USUAL = (Resource.CPU.value, Resource.IDLE.value)


@dataclass(frozen=True)
class Branch:
    """A part of a process's time.

    Attributes:
        name: Of the process, phase, stage, operation or layer.
        seconds: How long; corrected where the analysis is.
        low_s: The lower end of the interval; the same without a correction.
        high_s: The upper end.
        share: Of the process's time, from 0 to 1; NaN of several processes.
        branches: Its parts, the longest first.
        in_operations_s: The seconds of these in an operation or a phase.
    """

    name: str
    seconds: float
    low_s: float
    high_s: float
    share: float
    branches: tuple[Branch, ...]
    in_operations_s: float


class Line(NamedTuple):
    """A branch as a line of the tree: its depth from 0, and itself without its parts."""

    depth: int
    branch: Branch


def breakdown_tree(tables: RunTables) -> tuple[Branch, ...]:
    """Return the largest parts that there are several of: processes, else phases, else stages.

    A level of which nothing has a name is left out, and so is an operation that is all of its stage and is called so:

        simulation                  simulation  2 s
          simulation     ->           python    2 s
            python  2 s
    """
    rows = tables.breakdown
    of_process: dict[str, list[BreakdownRow]] = {row.process: [] for row in tables.processes}
    for row in rows:
        of_process[row.process].append(row)
    levels = ["phase"] if any(row.phase != NO_PHASE for row in rows) else []
    if any(row.stage != NO_OPERATION for row in rows):
        levels.append("stage")
    trees = {name: _branches(own, [*levels, "operation"], _seconds(own)) for name, own in of_process.items()}
    if len(trees) == 1:
        return next(iter(trees.values()))
    branches = [_branch(name, of_process[name], _seconds(of_process[name]), tree) for name, tree in trees.items()]
    return tuple(sorted(branches, key=lambda branch: -branch.in_operations_s))


def tree_lines(tables: RunTables, is_whole: bool = False) -> list[Line]:
    """Return the lines of the tree from top to bottom.

    Args:
        tables: Of a trace.
        is_whole: Whether nothing is to be folded.
    """
    tree = breakdown_tree(tables)
    if is_whole or len(tables.processes) == 1:
        return list(_lines(tree, 0, is_whole))
    # A process that only serves others waits all its life, which is no reason to show it.
    least_s = LEAST_SHARE * tree[0].in_operations_s
    shown = [branch for branch in tree if branch.in_operations_s >= least_s][:MOST_PROCESSES]
    lines = list(_lines(shown, 0, is_whole))
    if rest := tree[len(shown) :]:
        name = "1 more process" if len(rest) == 1 else f"{len(rest):,} more processes"
        lines.append(Line(0, _fold(name, rest, share=math.nan)))
    return lines


def _seconds(rows: Sequence[BreakdownRow]) -> float:
    return sum(_times(row)[0] for row in rows)


def _times(row: BreakdownRow) -> tuple[float, float, float]:
    """Return the seconds of a row and the ends of their interval."""
    if row.corrected_seconds is None or row.corrected_low_s is None or row.corrected_high_s is None:
        return row.seconds, row.seconds, row.seconds
    return row.corrected_seconds, row.corrected_low_s, row.corrected_high_s


def _branches(rows: Sequence[BreakdownRow], levels: Sequence[str], whole_s: float) -> tuple[Branch, ...]:
    """Put the rows in groups by the first level, these by the next one, and so on down to layers."""
    name_of: Callable[[BreakdownRow], str] = _layer
    if levels:
        level = levels[0]

        def name_of(row: BreakdownRow) -> str:
            name: str = getattr(row, level)
            return NOTHING_OPEN[level] if name == NO_OPERATION else name

    groups: dict[str, list[BreakdownRow]] = {}
    for row in rows:
        groups.setdefault(name_of(row), []).append(row)
    found = []
    for name, group in groups.items():
        parts = _branches(group, levels[1:], whole_s) if levels else ()
        if len(parts) == 1 and levels[0] == "stage" and parts[0].name in (name, NOTHING_OPEN["operation"]):
            parts = parts[0].branches
        found.append(_branch(name, group, whole_s, parts))
    return tuple(sorted(found, key=lambda branch: (-branch.seconds, branch.name)))


def _layer(row: BreakdownRow) -> str:
    return row.category if row.resource in _USUAL else f"{row.category}, {row.resource}"


def _branch(name: str, rows: Sequence[BreakdownRow], whole_s: float, branches: tuple[Branch, ...]) -> Branch:
    seconds, low_s, high_s = (sum(parts) for parts in zip(*map(_times, rows), strict=True)) if rows else (0.0,) * 3
    inside_s = _seconds([row for row in rows if row.operation != NO_OPERATION or row.phase != NO_PHASE])
    return Branch(name, seconds, low_s, high_s, seconds / whole_s if whole_s else 0.0, branches, inside_s)


def _lines(branches: Sequence[Branch], depth: int, is_whole: bool) -> Iterator[Line]:
    small = [] if is_whole else [each for each in branches if each.share < LEAST_SHARE and each.name not in STAGES]
    if len(small) == 1 and len(branches) > 1:
        small = []  # a line that says so would be as long
    for branch in branches:
        if small and branch.share < LEAST_SHARE and branch.name not in STAGES:
            continue
        yield Line(depth, replace(branch, branches=()))
        if is_whole or branch.share >= LEAST_SHARE:
            yield from _lines(branch.branches, depth + 1, is_whole)
    if small:
        yield Line(depth, _fold(f"{len(small):,} more below 1 %", small, sum(branch.share for branch in small)))


def _fold(name: str, branches: Sequence[Branch], share: float) -> Branch:
    """Put several branches together."""
    return Branch(
        name,
        sum(branch.seconds for branch in branches),
        sum(branch.low_s for branch in branches),
        sum(branch.high_s for branch in branches),
        share,
        (),
        sum(branch.in_operations_s for branch in branches),
    )
