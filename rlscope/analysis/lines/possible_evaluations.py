"""This file finds functions of a program's own that look like tests of its policy in the middle of training."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from rlscope.analysis.lines.own_lines import Function, OwnLines, ProcessStacks, StackTime
from rlscope.analysis.lines.tables import short_path
from rlscope.analysis.rows import Row, Rows, sums
from rlscope.analysis.sweep import ProcessSweep
from rlscope.model import BACKPROPAGATION, INFERENCE, SIMULATION, Purpose

#: What people call such functions and their classes. What a function does cannot tell: steps and network calls of a
#: test, of the second of two tasks, and of a search look the same, and whether an update uses them is not seen.
_WORDS = frozenset(
    ("eval", "evaluate", "evaluates", "evaluation", "evaluator", "test", "tester", "testing", "tests",
     "validate", "validation", "validator")
)  # fmt: skip
#: Where a test follows an update, a stack that is seen late shows one in the other: such a part of them may.
_LATE = 0.05
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class PossibleEvaluationRow(Row):
    """A function of the program's own that looks like a test of its policy, in the middle of training.

    Its name, or its class's, has a word such as *evaluate*, *test* or *validate*; stacks in it show steps of an
    environment and calls of networks, and none, but for late ones, an update, which the process makes elsewhere. Steps
    or calls of networks are outside of it as well. Of one such function in another the outer one has the time.

    Attributes:
        process: The process.
        function: The qualified name.
        file: Where it is, from the package on.
        line: The line at which it begins.
        stacks: How many stacks were seen that pass it.
        seconds: The training's time in it and in what it called, by these stacks.
        simulation_s: Of these in stage simulation.
        inference_s: Of these in stage inference.
    """

    process: str
    function: str
    file: str
    line: int
    stacks: int
    seconds: float
    simulation_s: float
    inference_s: float


def possible_evaluation_rows(lines: OwnLines) -> Rows[PossibleEvaluationRow]:
    """Make the rows of `Analysis.possible_evaluations`: of each process those with most time first."""
    return Rows(
        PossibleEvaluationRow, (row for process in lines.processes.values() for row in _of_process(process, lines))
    )


def is_called_a_test(function: str) -> bool:
    """Return whether a qualified name has a word for testing: of the function or its class, not of what is around."""
    own = function.rpartition("<locals>.")[2]
    return not _WORDS.isdisjoint(word.lower() for word in _WORD.findall(own))


def _of_process(process: ProcessSweep, lines: OwnLines) -> list[PossibleEvaluationRow]:
    found = process.found
    if not any(row.stage == BACKPROPAGATION for row in found.purposes):
        return []  # it may be tested what another process trains, or candidates that learn by nothing else
    if not any(is_called_a_test(row.function) for row in found.stacks):
        return []
    stacks = lines.stacks(process.name)
    times: dict[Function, list[StackTime]] = defaultdict(list)
    for function, time in _in_tests(stacks):
        times[function].append(time)
    rows = []
    for (file, name, line), own in times.items():
        seconds = sums((time.stage, time.seconds) for time in own)
        rows.append(
            PossibleEvaluationRow(
                process.name, name, short_path(file), line, sum(time.stacks for time in own),
                sum(seconds.values()), seconds.get(SIMULATION, 0.0), seconds.get(INFERENCE, 0.0),
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: (-row.seconds, row.function, row.file, row.line))


def _in_tests(stacks: ProcessStacks) -> Iterator[tuple[Function, StackTime]]:
    """Yield the times of training that pass a function which fits, with the outermost one."""
    passed: dict[Function, Counter[str]] = defaultdict(Counter)
    acting = 0  # stacks of steps and network calls
    training = []
    for time in stacks.times:
        functions = () if time.stack is None else stacks.own_functions[time.stack]
        is_training = time.purpose == Purpose.TRAINING.value
        if is_training and time.stage != BACKPROPAGATION:
            training.append((time, functions))
            acting += time.stacks if time.stage in (SIMULATION, INFERENCE) else 0
        if is_training or time.stage == BACKPROPAGATION:
            for function in functions:
                passed[function][time.stage] += time.stacks
    fitting = {
        function
        for function, seen in passed.items()
        if is_called_a_test(function[1])
        and seen[SIMULATION]
        and seen[INFERENCE]
        and seen[SIMULATION] + seen[INFERENCE] < acting  # what is around all of it is the training
        and seen[BACKPROPAGATION] <= _LATE * (seen[SIMULATION] + seen[INFERENCE])
    }
    for time, functions in training:
        outermost = next((function for function in functions if function in fitting), None)
        if outermost is not None:
            yield outermost, time
