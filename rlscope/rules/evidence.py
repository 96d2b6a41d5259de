"""This file finds in the analysis of a run what more than one rule looks at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from rlscope.analysis.account.account import IMPORTING, AccountRow, group_name, public_name, written
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.account.operator_threads import operator_thread_shares
from rlscope.analysis.account.owner_path import rounds, without_numbers
from rlscope.analysis.lines.own_lines import BEGINNING, OwnLine, ProcessStacks, StackTime, bare_name
from rlscope.analysis.lines.swept import SweptStack
from rlscope.analysis.rows import sums
from rlscope.analysis.run import Run
from rlscope.analysis.run_tables import RunTables
from rlscope.analysis.table_rows import ProcessRow
from rlscope.analysis.tables.purposes import OF_PART
from rlscope.model import INFERENCE, SIMULATION, Category, LifePart
from rlscope.record.blocking import LOCK
from rlscope.rules.finding import Found, Place
from rlscope.rules.source import Line, Source
from rlscope.text import line_text
from rlscope.text.numbers import percent

#: They are no part of the time in which a run trains.
_AROUND = (Cause.STARTING_UP, Cause.AFTERWARDS, Cause.RECORDING)
#: The same of a stack's time, and what time is for in training itself: evaluation and the like have rules of their own.
_PARTS = tuple(part.value for part in LifePart if part not in (LifePart.STARTING_UP, LifePart.AFTERWARDS))
_PURPOSES = tuple(purpose.value for purpose in OF_PART.values())
#: What is about a smaller share of the training is not worth a change.
LEAST_SHARE = 0.125
#: More processes need so much of a core that nobody used.
LEAST_IDLE = 0.5
#: Messages with more on average take time by what is in them, not by how many they are.
LARGE_MESSAGE_BYTES = 10_000
#: Classes of libraries that step environments in processes, and send their messages.
VECTORS_IN_PROCESSES = ("SubprocVecEnv", "AsyncVectorEnv", "SubprocVectorEnv", "ParallelEnv")
#: Where PyTorch's calls are shorter on average, their number takes time, and not what is in a batch.
SHORT_CALL_S = 20e-6
_PYTORCH, _BACKWARD = "torch.", ".run_backward"
#: What these do in Python, as their functions in C do, is the doing of the line that called them.
_LIKE_C = ("numpy/", "statistics.py ")
#: A `with` statement takes a lock by such a function; who waits for an answer of another thread calls others.
_OF_WITH = ".__enter__"
#: So many stacks must have been seen in functions of Python before these are said to have time. How long a native one
#: took is known without.
LEAST_STACKS = 5
#: So many sets of processes must have lived one after the other.
_LEAST_ROUNDS = 3
#: A function has most of the time of a purpose, and nearly all of its own is for it.
_MOST, _NEARLY_ALL = 0.5, 0.95
_QUARTER = 0.25


#: The layers of a process that does something.
_WORKING = tuple(each.label for each in (Category.PYTHON, Category.NATIVE, Category.BACKEND, Category.SIMULATOR))
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


class Evidence:
    """The tables of a run, and what several rules need of them, each found once.

    Attributes:
        tables: The tables.
        process: The process that paces the run; empty if none took time.
    """

    def __init__(self, run: Run, tables: RunTables) -> None:
        self.tables = tables
        self.process = tables.path.process if tables.path is not None else ""
        self._lines = run.own_lines(tables.loops)
        self._processes = {each.name: each for each in run.swept.processes}
        self.directory = str(run.swept.trace.manifest.get("directory"))
        self._source = Source(self.directory)

    @cached_property
    def training(self) -> list[AccountRow]:
        """Return the rows of the account of the time in which it trains, without imports where no loop is known."""
        return [
            row
            for row in self.tables.account
            if Cause(row.cause) not in _AROUND and (row.cause == Cause.IMPORT or not row.called.startswith(IMPORTING))
        ]

    @cached_property
    def _seconds(self) -> Mapping[Cause, float]:
        return sums((Cause(row.cause), row.seconds) for row in self.training)

    @cached_property
    def training_s(self) -> float:
        """Return how long it trains; what other programs take of the machine says nothing of what is worth a change."""
        whole_s = sum(self._seconds.values())
        return whole_s if self.tables.cores.is_own_doing else whole_s - self.seconds(Cause.NO_CORE)

    @property
    def _left_out(self) -> tuple[str, ...]:
        """Return the layers of stacks whose time is no part of `training_s`, of which their time is a share."""
        return () if self.tables.cores.is_own_doing else (Category.NO_CORE.label,)

    def seconds(self, *causes: Cause) -> float:
        """Return how long it trained for these causes."""
        return sum(self._seconds.get(cause, 0.0) for cause in causes)

    def share(self, seconds: float) -> str:
        """Return which part of the training this is, as people read it: `45 %`."""
        return percent(min(seconds / self.training_s, 1.0) if self.training_s else 0.0)

    @property
    def idle_cores(self) -> float:
        """Return how many cores the run might have used and did not, on average; 0 where that is not known."""
        cores = self.tables.cores
        used = [each for each in (cores.busy, cores.wanted) if each is not None]
        return cores.usable - max(used) if cores.usable is not None and used else 0.0

    @property
    def properties(self) -> Mapping[str, Any]:
        """Return what the process said of itself, which may hold anything."""
        process = self._processes.get(self.process)
        return process.found.properties if process is not None else {}

    @property
    def threads_in_operations(self) -> int:
        """Return how many threads of the process that paces the run did something that is known."""
        found = (row.threads_in_operations for row in self.tables.processes if row.process == self.process)
        return next(found, 0)

    @property
    def message_bytes(self) -> float:
        """Return how many bytes processes wrote to each other at a time, on average; 0 if nothing."""
        sent = [row for row in self.tables.messages if row.is_sent]
        return sum(row.bytes for row in sent) / max(1, sum(row.count for row in sent))

    @property
    def starts_processes_anew(self) -> bool:
        """Return whether sets of processes of one name lived one after the other: pools that are made anew."""
        alike: dict[str, list[ProcessRow]] = {}
        for row in self.tables.processes:
            if row.parent == self.process:
                alike.setdefault(without_numbers(row.process), []).append(row)
        return max(map(rounds, alike.values()), default=0) >= _LEAST_ROUNDS

    @property
    def alike(self) -> list[str]:
        """Return the processes that have the name, but for its number, and the parent of the one that paces the run."""
        parents = {row.process: row.parent for row in self.tables.processes}
        kind = (without_numbers(self.process), parents.get(self.process))
        found = ((without_numbers(name), parent) == kind for name, parent in parents.items())
        return [name for name, is_alike in zip(parents, found, strict=True) if is_alike and name != self.process]

    def busy_s(self, process: str) -> float:
        """Return how long a process did something, in whatever layer, while it did not wait."""
        rows = (row for row in self.tables.breakdown if row.process == process)
        return sum(row.seconds for row in rows if row.category in _WORKING)

    @property
    def answers(self) -> int:
        """Return how often it asked its networks in inference."""
        return self._begun(INFERENCE)

    @property
    def simulation_steps(self) -> int:
        """Return how often it stepped an environment, or a vector of them."""
        return self._begun(SIMULATION)

    def _begun(self, stage: str, operation: str = "") -> int:
        times = self._processes[self.process].found.cpu_times if self.process else ()
        return sum(row.begins for row in times if (row.stage, row.operation) == (stage, operation or stage))

    def mean_s(self, stage: str, operation: str) -> float:
        """Return how long an operation took on average; 0 if it was never begun."""
        mine = (row for row in self.tables.breakdown if row.process == self.process)
        rows = (row for row in mine if (row.stage, row.operation) == (stage, operation))
        whole_s = sum(row.seconds for row in rows if row.category not in self._left_out)
        begun = self._begun(stage, operation)
        return whole_s / begun if begun else 0.0

    def crossings(self, begin: str) -> Mapping[str, int]:
        """Return how often it entered each function of another layer whose name begins so."""
        rows = (row for row in self.tables.crossings if row.process == self.process)
        return {row.boundary: row.count for row in rows if row.boundary.startswith(begin)}

    @property
    def updates(self) -> int:
        """Return how often PyTorch computed gradients."""
        return sum(count for name, count in self.crossings(_PYTORCH).items() if name.endswith(_BACKWARD))

    @property
    def call_s(self) -> float:
        """Return how long a call of PyTorch took on average; 0 without any."""
        calls = sum(self.crossings(_PYTORCH).values())
        rows = (row for row in self.tables.breakdown if row.process == self.process)
        whole_s = sum(row.seconds for row in rows if row.category == Category.BACKEND.label)
        return whole_s / calls if calls else 0.0

    def at(self, *causes: Cause) -> Place:
        """Return where most of the time for these causes is."""
        rows = (row for row in self.training if Cause(row.cause) in causes and row.line)
        return place_of(max(rows, key=lambda row: row.seconds, default=None))

    def made(self, names: Collection[str], otherwise: Place) -> Place:
        """Return where the program's own code calls a function or class of these names first: that is to be changed.

        Args:
            names: `EvalCallback`, without its module; or of an argument, `render_mode`.
            otherwise: What is returned where it is not called, or the source is not there.
        """
        stacks = self._lines.stacks(self.process) if self.process else None
        if stacks is None or not names:
            return otherwise
        own = (row.file for row, is_own in zip(stacks.stacks, stacks.is_own, strict=True) if is_own)
        for file in dict.fromkeys(own):
            for function, line in self._source.made(file, names):
                return Place(function, file.removeprefix(f"{self.directory}/"), line)
        return otherwise

    def line_at(self, place: Place) -> Line | None:
        """Return what is on a line of the program's own code; None where that is not known."""
        return self._source.line_of(str(Path(self.directory, place.file)), place.line) if place.line else None

    def made_for(self, cause: Cause) -> Place:
        """Return where the program makes what does all this: `EvalCallback(...)`; else where most of the time is."""
        return self.made(self._classes_of(cause), self.at(cause))

    def _classes_of(self, cause: Cause) -> Collection[str]:
        """Return the classes of libraries whose methods do most that is for a purpose, such as `EvalCallback`."""
        if not self.process:
            return ()
        stacks = self._lines.stacks(self.process)
        whole, of_cause = _by_function(stacks, None), _by_function(stacks, cause.value)
        all_s = max(of_cause.values(), default=0.0)
        apart = [name for name, s in of_cause.items() if s >= _MOST * all_s > 0 and s >= _NEARLY_ALL * whole[name]]
        return {function.split(".")[0] for function in (name.rpartition(" ")[2] for name in apart) if "." in function}

    def cause(
        self, cause: Cause, change: str, seconds: float | None = None, made: Collection[str] = ()
    ) -> Iterator[Found]:
        """Yield a change of a cause that has all of its own time, or these seconds; `made` as `made()` takes it."""
        found_s = self.seconds(cause) if seconds is None else seconds
        if found_s >= LEAST_SHARE * self.training_s > 0:
            place = self.made(made, self.made_for(cause))
            yield Found(f"{change}{where(place)}", f"account: cause={cause.value}", found_s, place)

    def waits(self, kind: str, change: str) -> Iterator[Found]:
        """Yield a change of each wait of a kind that is for no process of the run.

        It is of the process that paces the run, or of those that it waits for.
        """
        if self.tables.path is None:
            return
        waits = {wait.function: wait for wait in self.tables.path.unfollowed}
        waits |= {group_name(each.names): each.idle[1] for each in self.tables.path.followed if each.idle is not None}
        for row in self.training:
            wait = waits.get(row.on)
            if row.cause != Cause.WAITING or not row.line or wait is None or wait.kind != kind:
                continue
            if kind != LOCK or wait.function.endswith(_OF_WITH):
                place = place_of(row)
                said = f"{change}: {self.share(row.seconds)} of the training are waits{where(place)}"
                yield Found(said, row.evidence, row.seconds, place)

    def calls(
        self,
        begins: Sequence[str],
        change: str,
        is_on_line: Callable[[Line], str] | None = None,
        but: Sequence[str] = (),
        is_whole: bool = False,
    ) -> Iterator[Found]:
        """Yield a change of what functions have that are called in training, with all that they call.

        Args:
            begins: How their names begin, with the end of the path: `copy.py deepcopy`; of native ones, which have
                no file, the names: `torch.tensor`.
            change: What to do.
            is_on_line: Says of a line of the program's own code what on it counts as well, as people write it:
                `np.concatenate`; "" of nothing. Functions in C that are in no layer have no stacks of their own.
            but: How names begin that do not count, though they begin so.
            is_whole: Whether all that is called on such a line counts as well.
        """
        begins, but = tuple(begins), tuple(but)

        def is_wanted(name: str) -> bool:
            return name.startswith(begins) and not name.startswith(but) if _is_in_file(name) else name in begins

        passing = self.passing(is_wanted, is_on_line=is_on_line, is_whole=is_whole)
        if passing is not None:
            said = f"{change}: {passing.function} has {self.share(passing.seconds)} of the training"
            yield Found(f"{said}{where(passing.place)}", "functions: stage, purpose=training", *passing[1:])

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
        said = written(function) if _is_in_file(function) else function
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
        return Place(row.function, row.file.removeprefix(f"{self.directory}/"), row.line)

    def busy_in(self, begins: Sequence[str]) -> tuple[str, float, Place]:
        """Return which process is in functions whose names begin so, for which part of its training, and where.

        It is the one that paces the run, or the one with which the run began.
        """
        begins = tuple(begins)
        main = self.tables.processes[0].process if self.tables.processes else ""
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
            waited = operator_thread_shares(process, self.tables.breakdown, self.tables.cpu_times, self._lines)
            imports = _imports(stacks)
            trained = [
                time._replace(seconds=time.seconds * (1 - waited[time.stage]))
                if time.stage in waited and time.category == Category.BACKEND.label
                else time
                for time in stacks.times
                if time.part in _PARTS and time.purpose in _PURPOSES and time.category not in self._left_out
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
        if self.tables.path is None:
            return {}
        found = {self.process: 1.0}
        for group in self.tables.path.followed:
            works_s = sum(work.total_s for work in group.works)
            found |= dict.fromkeys(group.names, group.worked_s / works_s if works_s else 0.0)
        return found


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
    return not time.function or _is_in_file(name)


def _is_in_file(name: str) -> bool:
    return ".py " in name


def place_of(row: AccountRow | None) -> Place:
    """Return where most of a row of an account is."""
    return Place(row.function, row.file, row.line) if row is not None and row.line else Place()


def _place_of_line(line: OwnLine | None) -> Place:
    return Place(line.function, line.path, line.line) if line is not None else Place()


def where(place: Place) -> str:
    """Return the place as the end of a sentence: ` (train.py:88)`; empty where no line is known."""
    return f" ({line_text(place.file, place.line)})" if place.line else ""


def bare_names(*names: str) -> Callable[[str], bool]:
    """Return what says whether a function is called by one of these names, in whatever class or file."""
    return lambda function: bare_name(function) in names
