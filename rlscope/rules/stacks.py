"""This file finds in the stacks of a run what time of training passes which functions and lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from rlscope.analysis.account.account import public_name, written
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.account.operator_threads import operator_thread_shares
from rlscope.analysis.lines.own_lines import BEGINNING, OwnLine, OwnLines, ProcessStacks, StackTime, bare_name
from rlscope.analysis.lines.swept import SweptStack
from rlscope.analysis.rows import sums
from rlscope.analysis.run_tables import RunTables
from rlscope.analysis.tables.purposes import OF_PART
from rlscope.model import Category, LifePart
from rlscope.rules.finding import Place
from rlscope.rules.source import Line, Source

#: Of a stack's time, what is training, and what time is for in it: evaluation and the like have rules of their own.
_PARTS = tuple(part.value for part in LifePart if part not in (LifePart.STARTING_UP, LifePart.AFTERWARDS))
_PURPOSES = tuple(purpose.value for purpose in OF_PART.values())
#: What these do in Python, as their functions in C do, is the doing of the line that called them.
_LIKE_C = ("numpy/", "statistics.py ")
#: So many stacks must have been seen in functions of Python before these are said to have time. How long a native one
#: took is known without.
LEAST_STACKS = 5
#: A function has most of the time of a purpose, and nearly all of its own is for it.
_MOST, _NEARLY_ALL = 0.5, 0.95
_QUARTER = 0.25
#: Code of this name runs when its file is imported.
MODULE = " <module>"


class Passing(NamedTuple):
    """The time of training in which stacks pass some functions.

    Attributes:
        function: The one of them that has most, as people write it: `copy.deepcopy`.
        seconds: How much time of the process that paces the run that is: its own, or of those that it waited for.
        place: The line of the program's own code that leads to most of it.
    """

    function: str
    seconds: float
    place: Place


class _Names(NamedTuple):
    """The functions of a process: of Python, native ones in training, and the times of that."""

    functions: frozenset[str]
    natives: frozenset[str]
    trained: Sequence[StackTime]


class TrainingStacks:
    """The stacks of a run's training: of the process that paces it, and of those that this waits for."""

    def __init__(self, process: str, tables: RunTables, lines: OwnLines, source: Source, directory: str) -> None:
        """Take the process that paces the run, its tables, lines and source, and where it was begun."""
        self.process = process
        self._tables = tables
        self._lines = lines
        self._source = source
        self._directory = directory

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the layers whose time is no part of the training: what other programs take of the machine."""
        return () if self._tables.cores.is_own_doing else (Category.NO_CORE.label,)

    def passing(
        self,
        is_wanted: Callable[[str], bool],
        stage: str | None = None,
        is_on_line: Callable[[Line], str] | None = None,
        is_whole: bool = False,
    ) -> Passing | None:
        """Return the time in which stacks pass functions of Python, or native ones, with such names; None of none.

        It is that of the process that paces the run, and what it waits for others while these are in such functions.
        Time counts as well that Python spends on lines of which `is_on_line` says what is on them, and if `is_whole`
        all that is called there.
        """
        found: list[tuple[float, str, str]] = []
        wanted: dict[str, list[StackTime]] = {}
        for process, weight in self._weights.items():
            passing = self._passing(process, is_wanted, stage, is_on_line, is_whole)
            if sum(time.stacks if _is_seen(time, name) else LEAST_STACKS for time, name in passing) < LEAST_STACKS:
                continue
            wanted[process] = [time for time, _ in passing]
            seconds = sums((name, time.seconds) for time, name in passing)
            found += ((of_name * weight, name, process) for name, of_name in seconds.items())
        if not found:
            return None
        _, function, process = max(found)
        said = written(function) if is_in_file(function) else function
        place = Place()
        if is_whole and is_on_line is not None:
            place = self._place_that_counts(process, wanted[process], is_on_line)
        if not place.line:
            is_passing = {id(time) for time in wanted[process]}
            place = _place_of_line(self._lines.stacks(process).own_line(lambda time: id(time) in is_passing))
        return Passing(said, sum(seconds for seconds, _, _ in found), place)

    def _place_that_counts(self, process: str, times: Sequence[StackTime], is_on_line: Callable[[Line], str]) -> Place:
        """Return the line on which is what counts, with most of these times; none where functions were looked for."""
        stacks = self._lines.stacks(process)
        seconds: dict[Place, float] = {}
        for time in times:
            index = time.stack
            while index is not None and not (stacks.is_own[index] and self._on_line(stacks.stacks[index], is_on_line)):
                index = stacks.stacks[index].caller
            if index is not None:
                place = self._place_of_row(stacks.stacks[index])
                seconds[place] = seconds.get(place, 0.0) + time.seconds
        return max(seconds, key=lambda place: seconds[place], default=Place())

    def callers(self, place: Place) -> list[Place]:
        """Return the lines from which an own function is called, where these are several; else those of its caller.

        Each has a quarter of the function's time or more.
        """
        if not self.process:
            return []
        stacks = self._lines.stacks(self.process)
        chains: list[tuple[list[Place], float]] = []
        for time in self._names[self.process].trained:
            chain, index = [], time.stack
            while index is not None and stacks.names[index] != BEGINNING:
                row = stacks.stacks[index]
                if stacks.is_own[index]:
                    chain.append(self._place_of_row(row))
                index = row.caller
            inside = [depth for depth, each in enumerate(chain) if each[:2] == place[:2]]
            if inside:
                chains.append((chain[inside[-1] + 1 :], time.seconds))
        whole_s = sum(seconds for _, seconds in chains)
        while chains:
            by_line = sums((chain[0], seconds) for chain, seconds in chains if chain)
            several = [each for each, seconds in by_line.items() if seconds >= _QUARTER * whole_s]
            if len(several) != 1:
                return sorted(several, key=lambda each: -by_line[each])
            chains = [(chain[1:], seconds) for chain, seconds in chains if chain[:1] == several]
        return []

    def _place_of_row(self, row: SweptStack) -> Place:
        return Place(row.function, row.file.removeprefix(f"{self._directory}/"), row.line)

    def busy_in(self, begins: Sequence[str]) -> tuple[str, float, Place]:
        """Return which process is in functions whose names begin so, for which part of its training, and where.

        It is the one that paces the run, or the one with which the run began.
        """
        begins = tuple(begins)
        main = self._tables.processes[0].process if self._tables.processes else ""
        found = [("", 0.0, Place())]
        for process in {self.process, main} - {""}:
            stacks = self._lines.stacks(process)
            trained_s = sum(time.seconds for time in stacks.times if time.part in _PARTS)
            wanted = self._outermost_of(process, {name for name in stacks.names if name.startswith(begins)})
            asking = {id(time) for time in stacks.times if wanted and time.stack is not None and wanted[time.stack]}
            seconds = sum(time.seconds for time in stacks.times if id(time) in asking and time.part in _PARTS)
            line = stacks.own_line(lambda time, asking=asking: id(time) in asking)  # type: ignore[misc]
            found.append((process, seconds / trained_s if trained_s else 0.0, _place_of_line(line)))
        return max(found, key=lambda each: each[1])

    def _passing(
        self,
        process: str,
        is_wanted: Callable[[str], bool],
        stage: str | None,
        is_on_line: Callable[[Line], str] | None,
        is_whole: bool,
    ) -> list[tuple[StackTime, str]]:
        """Return the times of a process that count, each with what it passes: the outermost wanted function."""
        outermost = self._outermost(process, is_wanted)
        on_lines = self._on_lines(process, is_on_line, is_whole) if is_on_line is not None else ()
        if not outermost and not any(on_lines) and not any(map(is_wanted, self._names[process].natives)):
            return []
        found = (
            (time, _wanted_of(time, outermost, is_wanted, on_lines, is_whole)) for time in self._trained(process, stage)
        )
        return [(time, name) for time, name in found if name]

    def _on_lines(self, process: str, is_on_line: Callable[[Line], str], is_whole: bool) -> Sequence[str]:
        """Return of each stack of a process what counts on its line, if that is of the program's own code.

        What NumPy does in Python counts for the line that called it, and if `is_whole` what anybody does.
        """
        stacks = self._lines.stacks(process)
        found: list[str] = []
        for row, name, is_own in zip(stacks.stacks, stacks.names, stacks.is_own, strict=True):
            is_of_line = row.caller is not None and name != BEGINNING and (is_whole or name.startswith(_LIKE_C))
            around = found[row.caller] if is_of_line else ""  # type: ignore[index]
            found.append((self._on_line(row, is_on_line) if is_own else "") or around)
        return found

    def _on_line(self, row: SweptStack, is_on_line: Callable[[Line], str]) -> str:
        line = self._source.line(row.file, row.function, row.first_line, row.line)
        return is_on_line(line) if line is not None else ""

    def _trained(self, process: str, stage: str | None) -> Iterator[StackTime]:
        return (time for time in self._names[process].trained if stage is None or time.stage == stage)

    @cached_property
    def _names(self) -> Mapping[str, _Names]:
        """Return the times of training of the processes that count, and the functions in them, each once.

        What they waited for threads of PyTorch's operators is no time of what was called. Where no loop is known,
        imports are no training, as in `training`.
        """
        found = {}
        for process in self._weights:
            stacks = self._lines.stacks(process)
            waited = operator_thread_shares(process, self._tables.breakdown, self._tables.cpu_times, self._lines)
            imports = _imports(stacks)
            trained = [
                time._replace(seconds=time.seconds * (1 - waited[time.stage]))
                if time.stage in waited and time.category == Category.BACKEND.label
                else time
                for time in stacks.times
                if time.part in _PARTS and time.purpose in _PURPOSES and time.category not in self.left_out
                if time.part != LifePart.UNPLACED.value or time.stack is None or not imports[time.stack]
            ]
            natives = {public_name(time.function) for time in trained if time.function}
            found[process] = _Names(frozenset(stacks.names), frozenset(natives), trained)
        return found

    def _outermost(self, process: str, is_wanted: Callable[[str], bool]) -> Sequence[str]:
        """Return of each stack of a process the outermost wanted function that it passes; empty if it passes none."""
        return self._outermost_of(process, {name for name in self._names[process].functions if is_wanted(name)})

    def _outermost_of(self, process: str, wanted: Collection[str]) -> Sequence[str]:
        if not wanted:
            return ()
        stacks = self._lines.stacks(process)
        found: list[str] = []
        for row, name in zip(stacks.stacks, stacks.names, strict=True):
            # What the parent of a process was doing when it forked is not what the process does.
            around = "" if row.caller is None or name == BEGINNING else found[row.caller]
            found.append(around or (name if name in wanted else ""))
        return found

    @cached_property
    def _weights(self) -> Mapping[str, float]:
        """Return for how long the process that paces the run waited for each second of others' work; itself has 1."""
        if self._tables.path is None:
            return {}
        found = {self.process: 1.0}
        for group in self._tables.path.followed:
            works_s = sum(work.total_s for work in group.works)
            found |= dict.fromkeys(group.names, group.worked_s / works_s if works_s else 0.0)
        return found

    def classes_of(self, cause: Cause) -> Collection[str]:
        """Return the classes of libraries whose methods do most that is for a purpose, such as `EvalCallback`."""
        if not self.process:
            return ()
        stacks = self._lines.stacks(self.process)
        whole, of_cause = _by_function(stacks, None), _by_function(stacks, cause.value)
        all_s = max(of_cause.values(), default=0.0)
        apart = [name for name, s in of_cause.items() if s >= _MOST * all_s > 0 and s >= _NEARLY_ALL * whole[name]]
        return {function.split(".")[0] for function in (name.rpartition(" ")[2] for name in apart) if "." in function}


def _by_function(stacks: ProcessStacks, purpose: str | None) -> Mapping[str, float]:
    """Return how long stacks passed each function of libraries, with all that it called, for a purpose or for any."""
    seconds = [0.0] * len(stacks.stacks)
    for time in stacks.times:
        if time.stack is not None and purpose in (None, time.purpose):
            seconds[time.stack] += time.seconds
    found: dict[str, float] = {}
    for place in reversed(range(len(seconds))):  # callers stand before what they called
        caller, name = stacks.stacks[place].caller, stacks.names[place]
        if caller is not None:
            seconds[caller] += seconds[place]
        if not stacks.is_own[place] and (caller is None or stacks.names[caller] != name):
            found[name] = found.get(name, 0.0) + seconds[place]
    return found


def _imports(stacks: ProcessStacks) -> Sequence[bool]:
    """Return of each stack whether it is in a file of a library that the program's own code imports."""
    under_own: list[bool] = []
    found: list[bool] = []
    for row, name, is_own in zip(stacks.stacks, stacks.names, stacks.is_own, strict=True):
        has_own, is_importing = (False, False) if row.caller is None else (under_own[row.caller], found[row.caller])
        under_own.append(is_own or has_own)
        found.append(is_importing or (has_own and not is_own and name.endswith(MODULE)))
    return found


def _wanted_of(
    time: StackTime, outermost: Sequence[str], is_wanted: Callable[[str], bool], on_lines: Sequence[str], is_whole: bool
) -> str:
    python, on_line = (names[time.stack] if names and time.stack is not None else "" for names in (outermost, on_lines))
    native = public_name(time.function)
    if python or is_whole or not native:
        return python or on_line
    return native if is_wanted(native) or native == on_line else ""


def _is_seen(time: StackTime, name: str) -> bool:
    """Return whether time is known by stacks alone, and not by a call of a native function."""
    return not time.function or is_in_file(name)


def is_in_file(name: str) -> bool:
    """Return whether a function is one of Python, which has a file: `copy.py deepcopy`."""
    return ".py " in name


def _place_of_line(line: OwnLine | None) -> Place:
    return Place(line.function, line.path, line.line) if line is not None else Place()


def bare_names(*names: str) -> Callable[[str], bool]:
    """Return what says whether a function is called by one of these names, in whatever class or file."""
    return lambda function: bare_name(function) in names
