"""This file adds up the functions of Python that stacks pass: with what they called and without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rlscope.analysis.lines.own_lines import Function, OwnLines, ProcessStacks
from rlscope.analysis.lines.swept import SweptStack
from rlscope.analysis.lines.tables import short_path
from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.tables.loop_times import OFF_PROCESSOR, CpuShares


class FunctionRow(Row):
    """A function of Python in which stacks were seen, with the time of what it called and without it.

    Attributes:
        process: The process.
        stage: The stage of the operation that was innermost.
        purpose: What the time was for, as in `purposes`.
        function: The qualified name.
        file: Where it is, from the package on.
        line: The line at which it begins.
        is_own: Whether it is the program's own code: in no package that was installed, nor in the standard library.
        stacks: How many stacks were seen that pass it.
        own_stacks: In how many of them it was innermost.
        seconds: The process's time in it and in what it called, waits included, by the stacks that were seen.
        own_seconds: The same of what it did itself, with the native calls that it made.
        cpu_s: Of `seconds` the processor time, without what recording added.
    """

    process: str
    stage: str
    purpose: str
    function: str
    file: str
    line: int
    is_own: bool
    stacks: int
    own_stacks: int
    seconds: float
    own_seconds: float
    cpu_s: float


@dataclass(slots=True)
class _Sum:
    stacks: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0

    def add(self, other: _Sum) -> None:
        self.stacks += other.stacks
        self.seconds += other.seconds
        self.cpu_s += other.cpu_s


def function_rows(lines: OwnLines, shares: CpuShares) -> Rows[FunctionRow]:
    """Make the rows of `Analysis.functions`: of each process those with most time first."""
    return Rows(
        FunctionRow, (row for name in lines.processes for row in functions_of(lines.stacks(name), name, shares))
    )


def functions_of(stacks: ProcessStacks, process: str, shares: CpuShares) -> list[FunctionRow]:
    """Return the functions of a process, of whose seconds in layers that work `shares` are processor time.

    A function that calls itself has what passes its outermost call, so that nothing counts twice.
    """
    is_outermost = _are_outermost(stacks.stacks)
    own: dict[tuple[str, str], dict[int, _Sum]] = defaultdict(lambda: defaultdict(_Sum))
    for time in stacks.times:
        if time.stack is not None:
            share = 0.0 if time.category in OFF_PROCESSOR else shares.get((process, time.phase, time.stage), 0.0)
            own[time.stage, time.purpose][time.stack].add(_Sum(time.stacks, time.seconds, time.seconds * share))
    rows = []
    for (stage, purpose), of_stacks in own.items():
        whole: dict[int, _Sum] = defaultdict(_Sum)
        sums: dict[Function, tuple[int, _Sum, _Sum]] = {}  # a stack of it, with what it called, and without
        for place in reversed(range(max(of_stacks) + 1)):
            exclusive = of_stacks.get(place, _Sum())
            if place not in of_stacks and place not in whole:
                continue
            whole[place].add(exclusive)
            row = stacks.stacks[place]
            if row.caller is not None:
                whole[row.caller].add(whole[place])
            _, of_function, own_of_function = sums.setdefault(_function(row), (place, _Sum(), _Sum()))
            own_of_function.add(exclusive)
            if is_outermost[place]:
                of_function.add(whole[place])
        for place, inclusive, exclusive in sums.values():
            row = stacks.stacks[place]
            rows.append(
                FunctionRow(
                    process, stage, purpose, row.function, short_path(row.file), row.first_line, stacks.is_own[place],
                    inclusive.stacks, exclusive.stacks, inclusive.seconds, exclusive.seconds,
                    inclusive.cpu_s,
                )
            )  # fmt: skip
    return sorted(rows, key=lambda row: (-row.seconds, -row.own_seconds, row.function, row.file, row.line))


def _function(stack: SweptStack) -> Function:
    return stack.file, stack.function, stack.first_line


def _are_outermost(stacks: Sequence[SweptStack]) -> list[bool]:
    """Return of each stack whether its function is not open around it."""
    found = []
    for row in stacks:
        around = row.caller
        while around is not None and _function(stacks[around]) != _function(row):
            around = stacks[around].caller
        found.append(around is None)
    return found
