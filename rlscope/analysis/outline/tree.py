"""The breakdown as a tree of parts of a life, phases, stages, operations and layers, with small branches folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rlscope.analysis.run_tables import RunTables
from rlscope.analysis.table_rows import BreakdownRow
from rlscope.analysis.tables.loop import Loops, is_named, rows_by_part
from rlscope.model import NO_OPERATION, NO_PHASE, STAGES, LifePart, Resource

#: Branches with a smaller share of their part of a life are folded into one, but not the stages of training.
LEAST_SHARE = 0.01
NOTHING_OPEN = {"phase": "(no phase)", "stage": "(no stage)", "operation": "(no operation)"}
#: What a layer is where nothing is said of the hardware, because it is as one expects.
_USUAL = (Resource.CPU.value, Resource.IDLE.value)


@dataclass(frozen=True)
class Branch:
    """A part of a process's time.

    Attributes:
        name: Of the process, part of its life, phase, stage, operation or layer.
        seconds: How long; corrected where the analysis is.
        low_s: The lower end of the interval; the same without a correction.
        high_s: The upper end.
        share: Of the process's wall time, from 0 to 1.
        share_of_part: Of the part of its life that it is in.
        branches: Its parts, the longest first.
    """

    name: str
    seconds: float
    low_s: float
    high_s: float
    share: float
    share_of_part: float
    branches: tuple[Branch, ...]


class Line(NamedTuple):
    """A branch as a line of the tree: its depth from 0, and itself without its parts."""

    depth: int
    branch: Branch


def breakdown_tree(tables: RunTables) -> tuple[Branch, ...]:
    """Return the wall time of the process that paces the run, the longest first; nothing if no process took time.

    These are the phases of its loop or, without any, the stages, and beside them the other parts of its life. A level
    of which nothing has a name is left out, and so is an operation that is all of its stage and is called so:

        simulation                  simulation  2 s
          simulation     ->           python    2 s
            python  2 s
        starting up                 starting up 1 s
    """
    return () if tables.path is None else _tree(life_parts(tables, tables.path.process))


def life_parts(tables: RunTables, process: str) -> dict[LifePart, Branch]:
    """Return the parts of a process's wall time in the order of `LifePart`, each with what it consists of."""
    return _life_parts([row for row in tables.breakdown if row.process == process], tables.loops)


def lives(tables: RunTables) -> tuple[Branch, ...]:
    """Return the wall time of each process, of the one that is longest in operations first."""
    of_process: dict[str, list[BreakdownRow]] = {row.process: [] for row in tables.processes}
    for row in tables.breakdown:
        of_process[row.process].append(row)
    named_s = {name: _seconds(filter(is_named, rows)) for name, rows in of_process.items()}
    whole = {name: _seconds(rows) for name, rows in of_process.items()}
    return tuple(
        _branch(name, of_process[name], (whole[name], whole[name]), _tree(_life_parts(of_process[name], tables.loops)))
        for name in sorted(of_process, key=lambda name: -named_s[name])
    )


def tree_lines(tables: RunTables, is_whole: bool = False) -> list[Line]:
    """Return the lines of the tree from top to bottom.

    Args:
        tables: Of a trace.
        is_whole: Whether all processes are to be shown, and nothing is to be folded.
    """
    tree = lives(tables) if is_whole and len(tables.processes) > 1 else breakdown_tree(tables)
    return list(_lines(tree, 0, is_whole))


def _life_parts(rows: Sequence[BreakdownRow], loops: Loops) -> dict[LifePart, Branch]:
    """Divide the rows of one process; those of the loop alone have phases and stages."""
    of_part: dict[LifePart, list[BreakdownRow]] = {part: [] for part in LifePart}
    for part, row in rows_by_part(rows, loops):
        of_part[part].append(row)
    whole_s = _seconds(rows)
    found = {}
    for part, own in of_part.items():
        levels = ["operation"] if any(row.operation != NO_OPERATION for row in own) or part is LifePart.LOOP else []
        if any(row.stage != NO_OPERATION for row in own):
            levels.insert(0, "stage")
        if part is LifePart.LOOP and any(row.phase != NO_PHASE for row in own):
            levels.insert(0, "phase")
        wholes = whole_s, _seconds(own)
        if own:
            found[part] = _branch(part.value, own, wholes, _branches(own, levels, wholes))
    return found


def _tree(parts: dict[LifePart, Branch]) -> tuple[Branch, ...]:
    """Put the parts of a life beside what is in the loop."""
    loop = parts[LifePart.LOOP].branches if LifePart.LOOP in parts else ()
    others = [branch for part, branch in parts.items() if part is not LifePart.LOOP]
    return tuple(sorted([*loop, *others], key=lambda branch: (-branch.seconds, branch.name)))


def _seconds(rows: Iterable[BreakdownRow]) -> float:
    return sum(_times(row)[0] for row in rows)


def _times(row: BreakdownRow) -> tuple[float, float, float]:
    """Return the seconds of a row and the ends of their interval."""
    if row.corrected_seconds is None or row.corrected_low_s is None or row.corrected_high_s is None:
        return row.seconds, row.seconds, row.seconds
    return row.corrected_seconds, row.corrected_low_s, row.corrected_high_s


def _branches(rows: Sequence[BreakdownRow], levels: Sequence[str], wholes: tuple[float, float]) -> tuple[Branch, ...]:
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
        parts = _branches(group, levels[1:], wholes) if levels else ()
        if len(parts) == 1 and levels[0] == "stage" and parts[0].name in (name, NOTHING_OPEN["operation"]):
            parts = parts[0].branches
        found.append(_branch(name, group, wholes, parts))
    return tuple(sorted(found, key=lambda branch: (-branch.seconds, branch.name)))


def _layer(row: BreakdownRow) -> str:
    return row.category if row.resource in _USUAL else f"{row.category}, {row.resource}"


def _branch(
    name: str, rows: Sequence[BreakdownRow], wholes: tuple[float, float], branches: tuple[Branch, ...]
) -> Branch:
    """Make a branch of rows; `wholes` are the seconds of the process, and of the part of its life."""
    seconds, low_s, high_s = (sum(parts) for parts in zip(*map(_times, rows), strict=True)) if rows else (0.0,) * 3
    share, share_of_part = (seconds / whole_s if whole_s else 0.0 for whole_s in wholes)
    return Branch(name, seconds, low_s, high_s, share, share_of_part, branches)


def _lines(branches: Sequence[Branch], depth: int, is_whole: bool) -> Iterator[Line]:
    small = [] if is_whole else [each for each in branches if _is_small(each) and each.name not in STAGES]
    if len(small) == 1 and len(branches) > 1:
        small = []  # a line that says so would be as long
    for branch in branches:
        if small and _is_small(branch) and branch.name not in STAGES:
            continue
        yield Line(depth, replace(branch, branches=()))
        if is_whole or not _is_small(branch):
            yield from _lines(branch.branches, depth + 1, is_whole)
    if small:
        yield Line(depth, _fold(f"{len(small):,} more below 1 %", small))


def _is_small(branch: Branch) -> bool:
    return branch.share_of_part < LEAST_SHARE


def _fold(name: str, branches: Sequence[Branch]) -> Branch:
    """Put several branches together."""
    return Branch(
        name,
        sum(branch.seconds for branch in branches),
        sum(branch.low_s for branch in branches),
        sum(branch.high_s for branch in branches),
        sum(branch.share for branch in branches),
        sum(branch.share_of_part for branch in branches),
        (),
    )
