"""This file finds the function and the line of a program's own code that lead to its time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from rlscope.analysis.lines.swept import SweptStack, SweptStackTime
from rlscope.analysis.lines.tables import is_packaged, short_path
from rlscope.analysis.rows import sums
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.swept import SweptPurpose
from rlscope.analysis.tables.loop import Loops
from rlscope.analysis.tables.purposes import part_of, purpose_of
from rlscope.model import Category, LifePart, Purpose
from rlscope.text import encodable

#: The code of a program that was not read from a file, as of `python -c`, has such a name, and much made code as well.
_NO_FILE = "<"
#: More than this part of it is most of it, of this one nearly all, and of this one all but what a look may miss.
_MOST, _NEARLY_ALL, _ALL = 0.5, 0.95, 0.99
#: Time is divided among so many lines at most, each of which has such a part of it and was seen so often.
_MOST_PLACES, _LEAST_PLACE, _LEAST_STACKS = 3, 0.15, 10
#: Layers whose calls may make CUDA calls.
_NATIVE = tuple(each.label for each in (Category.NATIVE, Category.SIMULATOR, Category.BACKEND))
#: Parts of a life in which a process does not train.
_AROUND = (LifePart.STARTING_UP.value, LifePart.AFTERWARDS.value)
#: They are functions until Python 3.12; people take them for a part of the one that they are in.
_COMPREHENSIONS = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
#: Where multiprocessing's processes begin; around it is what the parent was in.
BEGINNING = "multiprocessing/process.py BaseProcess._bootstrap"
#: What is done in functions whose names begin so, whatever they call, as the account has it: what takes no wait in the
#: first is to make bytes of objects, or objects of bytes, for another process; the last make environments.
DOING = {
    "multiprocessing/queues.py ": "pickling",
    "multiprocessing/connection.py ": "pickling",
    "multiprocessing/reduction.py ": "pickling",
    "gymnasium/envs/registration.py make": "making",
    "gym/envs/registration.py make": "making",
    "gymnasium/vector/sync_vector_env.py SyncVectorEnv.__init__": "making",
    "gymnasium/vector/async_vector_env.py AsyncVectorEnv.__init__": "making",
}
#: They call what a process or a thread was started to run.
_STARTERS = ("multiprocessing/process.py BaseProcess.", "threading.py Thread.")
#: A function: its file, its qualified name, and the line at which it begins.
Function = tuple[str, str, int]


class StackTime(NamedTuple):
    """A process did this where a stack was seen: columns of `PurposeRow`, the operation, and what was seen.

    Attributes:
        phase: The phase of the process.
        part: The part of its life, a value of `LifePart`.
        purpose: What for, a value of `Purpose`.
        stage: The stage.
        operation: The innermost operation.
        category: The layer: `python`, `no_core` in Python, or that of the native call.
        function: The native function; "" of Python.
        stack: The place of the stack among `ProcessStacks.stacks`; None if it has no frame that is a place.
        stacks: How often it was seen.
        seconds: For how long it stands: in one phase, part, purpose, stage and layer these sum to the process's time.
            CUDA calls are made in native ones, whose stacks stand for them as well, each by how long its call was.
    """

    phase: str
    part: str
    purpose: str
    stage: str
    operation: str
    category: str
    function: str
    stack: int | None
    stacks: int
    seconds: float


class OwnLine(NamedTuple):
    """A function of the program's own code, and its line with most of the time.

    Attributes:
        function: The qualified name of the function.
        path: Its file, from the directory on in which the run was begun if it lies there.
        line: The line.
        share: Which part of the time passes the function, from 0 to 1, with all that it calls.
        line_share: Which part passes the line.
        called: The functions that were called there and that most of the line's time passes, the outer one first, as
            `copy.py deepcopy`. Empty if most of it was in the line itself.
        entry: The one of these that a person would name, as `copy.py deepcopy` rather than its helpers; "" of none.
        is_apart: Whether nearly all of the function's time is like this, whatever the layer.
        is_entry_apart: Whether nearly all of the entry's time is.
        native: The native function in which most of the line's time was, such as `torch.addmm`; "" if that was Python.
        stacks: How many stacks were seen that pass the function.
        seen: Of so many.
        place: The function's file, qualified name and first line.
    """

    function: str
    path: str
    line: int
    share: float
    line_share: float
    called: tuple[str, ...]
    entry: str
    is_apart: bool
    is_entry_apart: bool
    native: str
    stacks: int
    seen: int
    place: Function

    @property
    def text(self) -> str:
        """Return where it is, as `train.py:88 main`."""
        return f"{self.path}:{self.line} {self.function}"


class ProcessStacks:
    """The stacks that were seen in a process, with what it did there.

    Attributes:
        stacks: The stacks: callers stand before what they called.
        times: What the process did where they were seen.
    """

    def __init__(self, process: ProcessSweep, loops: Loops, directory: str, programs: Collection[str]) -> None:
        """Find the stacks of a process of a run that was begun in a directory with these programs."""
        self.stacks = process.found.stacks
        self._directory = directory
        packaged = process.found.properties.get("package_directories")
        directories = [f"{each}/" for each in packaged if isinstance(each, str)] if isinstance(packaged, list) else []
        # Where packages lie beside the program, nothing tells them from its own files.
        self._packaged = [each for each in directories if not any(program.startswith(each) for program in programs)]
        self.times: list[StackTime] = []
        found = process.found.stack_times
        rows = [*found, *(_of_cuda_calls(row) for row in found if row.category in _NATIVE)]
        whole = sums((_place(row), row.ticks) for row in process.found.purposes)
        seen = sums((_place(row), row.ticks) for row in rows)
        for row in rows:
            part = part_of(row, process.name, loops)
            place = _place(row)
            ticks = row.ticks * whole.get(place, 0) / seen[place] if seen[place] else 0.0
            if ticks or row.stacks:
                self.times.append(
                    StackTime(
                        row.phase, part.value, purpose_of(row, part).value, row.stage, row.operation, row.category,
                        row.function, row.stack, row.stacks, ticks * process.seconds_per_tick,
                    )
                )  # fmt: skip

    @cached_property
    def is_own(self) -> list[bool]:
        """Return of each stack whether its line is of the program's own code.

        That is what lies in no package and not in the standard library, and was read from a file. Code without a file
        is the program's where a thread began with it, as that of `python -c`; all other was made by libraries.
        """
        begun = _programs_in(self.stacks)
        of_file = {
            file: file in begun if file.startswith(_NO_FILE) else not is_packaged(self._inside_packages(file))
            for file in {row.file for row in self.stacks}
        }
        return [of_file[row.file] for row in self.stacks]

    @cached_property
    def own_functions(self) -> list[tuple[Function, ...]]:
        """Return of each stack the own functions that it passes, the outermost first, each once."""
        return self._own_functions(is_begun=False)

    @cached_property
    def begun_functions(self) -> list[tuple[Function, ...]]:
        """Return the same without those in which the parent of the process was when it forked."""
        return self._own_functions(is_begun=True)

    def _own_functions(self, is_begun: bool) -> list[tuple[Function, ...]]:
        found: list[tuple[Function, ...]] = []
        for row, name, is_own in zip(self.stacks, self.names, self.is_own, strict=True):
            around = () if row.caller is None or (is_begun and name == BEGINNING) else found[row.caller]
            function = (row.file, row.function, row.first_line)
            is_new = is_own and function not in around and not row.function.endswith(_COMPREHENSIONS)
            found.append((*around, function) if is_new else around)
        return found

    @cached_property
    def names(self) -> list[str]:
        """Return of each stack the function as `OwnLine.called` has it: `copy.py deepcopy`."""
        return [f"{short_path(self._inside_packages(row.file))} {row.function}" for row in self.stacks]

    def _inside_packages(self, file: str) -> str:
        """Return a file as if all packages lay where Python has them."""
        directory = next((each for each in self._packaged if file.startswith(each)), None)
        return f"site-packages/{file.removeprefix(directory)}" if directory is not None else file

    @cached_property
    def doing(self) -> list[str]:
        """Return of each stack what the outermost function of `DOING` does; "" of a stack that passes none.

        What the parent of a process was doing when it forked is not what the process does.
        """
        found: list[str] = []
        for row, name in zip(self.stacks, self.names, strict=True):
            around = "" if row.caller is None or name == BEGINNING else found[row.caller]
            found.append(around or next((done for begin, done in DOING.items() if name.startswith(begin)), ""))
        return found

    def done_in(self, time: StackTime) -> str:
        """Return what of `DOING` was done; "" of nothing."""
        return "" if time.stack is None else self.doing[time.stack]

    def runs_own(self, stack: int | None) -> bool:
        """Return whether a stack passes own code since its process began, other than what is imported."""
        return stack is not None and any(name != "<module>" for _, name, _ in self.begun_functions[stack])

    def own_line(
        self, is_asked: Callable[[StackTime], bool], is_like: Callable[[StackTime], bool] | None = None
    ) -> OwnLine | None:
        """Return the innermost own function that most of the time passes for which this is asked, and its line.

        If none has more than half of it, it is the one with most. None where no own function was seen.

        Args:
            is_asked: Whether time counts.
            is_like: Whether it is for the same, perhaps in another layer: what was called there and is for nothing else
                is named, such as `PPO.train` of an update, but not `PPO.learn`. The same as `is_asked` unless given.
        """
        return self._line_of([time for time in self.times if is_asked(time)], is_like or is_asked)

    def places(
        self, is_asked: Callable[[StackTime], bool], is_like: Callable[[StackTime], bool]
    ) -> list[tuple[OwnLine | None, float]]:
        """Return the lines that lead to the time for which this is asked, and the share that each has of it.

        Each is what `own_line` finds in the time that the ones before leave over. A function that is apart has all that
        passes it, another one what passes its line. What is left at the end is one more: all, if few stacks were seen.
        """
        rest = [time for time in self.times if is_asked(time)]
        whole_s = sum(time.seconds for time in rest)
        found: list[tuple[OwnLine | None, float]] = []
        while rest and len(found) < _MOST_PLACES:
            line = self._line_of(rest, is_like)
            passing = [] if line is None else [time for time in rest if self._passes(time, line)]
            part = sum(time.seconds for time in passing) / whole_s if whole_s else 0.0
            if line is None or part < _LEAST_PLACE or sum(time.stacks for time in passing) < _LEAST_STACKS:
                break
            scale = sum(time.seconds for time in rest) / (part * whole_s)
            found.append((line._replace(share=line.share * scale, line_share=line.line_share * scale), part))
            taken = set(map(id, passing))
            rest = [time for time in rest if id(time) not in taken]
        left = 1 - sum(part for _, part in found)
        return [*found, (self._line_of(rest, is_like), left)] if rest else found

    def _passes(self, time: StackTime, line: OwnLine) -> bool:
        """Return whether time passes an own line, or its function if that is apart."""
        if time.stack is None or line.place not in self.own_functions[time.stack]:
            return False
        return line.is_apart or self._inside(time.stack, line.place)[0] == line.line

    def _line_of(self, asked: Sequence[StackTime], is_like: Callable[[StackTime], bool]) -> OwnLine | None:
        whole_s = sum(time.seconds for time in asked)
        seconds: dict[Function, float] = defaultdict(float)
        depths: dict[Function, float] = defaultdict(float)  # how many own functions are around it, times the seconds
        for time in asked:
            for depth, function in enumerate(() if time.stack is None else self.own_functions[time.stack]):
                seconds[function] += time.seconds
                depths[function] += depth * time.seconds
        if not whole_s or not seconds:
            return None
        most = [function for function, s in seconds.items() if s > _MOST * whole_s]
        if most:
            found = max(most, key=lambda function: (depths[function] / seconds[function], function))
        else:
            found = max(seconds, key=lambda function: (seconds[function], depths[function], function))
        passing = [time for time in asked if time.stack is not None and found in self.own_functions[time.stack]]
        return self._described(found, passing, whole_s, sum(time.stacks for time in asked), is_like)

    @cached_property
    def _trained(self) -> list[StackTime]:
        """Return the times of training, without what comes in the middle of anything, such as collecting garbage."""
        return [
            time for time in self.times if time.part not in _AROUND and not Purpose(time.purpose).interrupts
        ]  # fmt: skip

    def _is_apart(self, function: Function, is_like: Callable[[StackTime], bool]) -> bool:
        """Return whether nearly all time of an own function in training is like this."""
        times = [
            time for time in self._trained if time.stack is not None and function in self.own_functions[time.stack]
        ]
        whole_s = sum(time.seconds for time in times)
        return sum(time.seconds for time in times if is_like(time)) >= _NEARLY_ALL * whole_s

    def _is_loop(self, function: Function) -> bool:
        """Return whether an own function is the training loop: it has all time, and no library called it."""
        passes: list[bool] = []
        for row in self.stacks:
            is_passed = row.caller is not None and passes[row.caller]
            is_function = (row.file, row.function, row.first_line) == function
            passes.append(is_passed or (is_function and self._is_called_by_own[len(passes)]))
        passing_s = sum(time.seconds for time in self._trained if time.stack is not None and passes[time.stack])
        return passing_s >= _ALL * sum(time.seconds for time in self._trained)

    @cached_property
    def _is_called_by_own(self) -> list[bool]:
        """Return of each stack whether it has only own functions since its process or thread began."""
        found: list[bool] = []
        for row, is_own, name in zip(self.stacks, self.is_own, self.names, strict=True):
            around = row.caller is None or found[row.caller]
            found.append(name == BEGINNING or ((is_own or name.startswith(_STARTERS)) and around))
        return found

    def _described(
        self,
        function: Function,
        passing: Sequence[StackTime],
        whole_s: float,
        seen: int,
        is_like: Callable[[StackTime], bool],
    ) -> OwnLine:
        lines: dict[int, list[tuple[StackTime, list[str]]]] = {}
        for time in passing:
            line, names = self._inside(time.stack, function)
            lines.setdefault(line, []).append((time, names))
        seconds = {line: sum(time.seconds for time, _ in of_line) for line, of_line in lines.items()}
        longest = max(lines, key=lambda line: (seconds[line], line))
        native: dict[str, float] = defaultdict(float)
        for time, _ in lines[longest]:
            native[time.function] += time.seconds
        called = self._called([(names, time.seconds) for time, names in lines[longest]])
        entry, is_entry_apart = self._entry(called, is_like)
        file, name, _ = function
        return OwnLine(
            function=name,
            path=file.removeprefix(self._directory),
            line=longest,
            share=sum(seconds.values()) / whole_s,
            line_share=seconds[longest] / whole_s,
            called=called,
            entry=entry,
            is_apart=self._is_apart(function, is_like) and not self._is_loop(function),
            is_entry_apart=is_entry_apart,
            native=max(native, key=lambda each: (native[each], each)),
            stacks=sum(time.stacks for time in passing),
            seen=seen,
            place=function,
        )

    def _inside(self, stack: int | None, function: Function) -> tuple[int, list[str]]:
        """Return the line of a function that the stack passes, and what was called there, the outer one first.

        Of a function that calls itself it is the line of the innermost call.
        """
        called: list[str] = []
        while stack is not None:
            row = self.stacks[stack]
            if (row.file, row.function, row.first_line) == function:
                return row.line, called[::-1]
            called.append(self.names[stack])
            stack = row.caller
        raise ValueError(f"a stack that passes {function} was expected")

    @staticmethod
    def _called(functions: Sequence[tuple[Sequence[str], float]]) -> tuple[str, ...]:
        """Return those that most of the time passes, one within the other."""
        least_s = _MOST * sum(seconds for _, seconds in functions)
        found: list[str] = []
        while True:
            inner: dict[str, float] = defaultdict(float)
            functions = [(each, seconds) for each, seconds in functions if len(each) > len(found)]
            for each, seconds in functions:
                inner[each[len(found)]] += seconds
            longest = max(inner, key=lambda function: (inner[function], function), default=None)
            if longest is None or inner[longest] <= least_s:
                return tuple(found)
            functions = [(each, seconds) for each, seconds in functions if each[len(found)] == longest]
            found.append(longest)

    def _entry(self, called: Sequence[str], is_like: Callable[[StackTime], bool]) -> tuple[str, bool]:
        """Return the outermost function of these that people call by its name and whose time is nearly all like this.

        Where it only hands on to functions of the same name, as the `step` of wrappers does, it is the innermost of
        these. If all are for other things as well, it is the innermost, and the second value is false. Helpers are
        named where there is nothing else.
        """
        is_begun = BEGINNING in called
        begun = called[called.index(BEGINNING) + 1 :] if is_begun else called
        names = list(dict.fromkeys(begun))
        bits = {name: 1 << place for place, name in enumerate(names)}
        passed: list[int] = []  # of each stack which of these it passes
        for row, name in zip(self.stacks, self.names, strict=True):
            passed.append((0 if row.caller is None else passed[row.caller]) | bits.get(name, 0))
        whole, like = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        for time in self._trained:
            mask = 0 if time.stack is None else passed[time.stack]
            for name in names if mask else ():
                if mask & bits[name]:
                    whole[name] += time.seconds
                    like[name] += time.seconds if is_like(time) else 0.0
        if is_begun:  # what runs all the time is the work of the process itself
            whole_s = sum(time.seconds for time in self._trained)
            names = [name for name in names if whole[name] < _NEARLY_ALL * whole_s]
        named = [name for name in names if is_public(name)] or [name for name in names if "<" not in name]
        first = next((name for name in named if like[name] and like[name] >= _NEARLY_ALL * whole[name]), None)
        if first is None:
            return (named[-1] if named else ""), False
        return [name for name in named if bare_name(name) == bare_name(first)][-1], True


class OwnLines:
    """Finds own lines of a run's processes.

    Attributes:
        processes: The processes by their names.
    """

    def __init__(self, swept: TraceSweep, loops: Loops) -> None:
        directory = swept.trace.manifest.get("directory")
        self._directory = directory.rstrip("/") + "/" if isinstance(directory, str) else ""
        self.processes = {process.name: process for process in swept.processes}
        self._made: dict[str, ProcessStacks] = {}
        self._loops = loops

    def of(
        self,
        process: str,
        *,
        phase: str | Collection[str] | None = None,
        part: str | Collection[str] | None = None,
        purpose: str | Collection[str] | None = None,
        stage: str | Collection[str] | None = None,
        operation: str | Collection[str] | None = None,
        category: str | Collection[str] | None = None,
        function: str | Collection[str] | None = None,
        doing: str | None = None,
    ) -> OwnLine | None:
        """Return the function and the line of the process's own code that lead to most of its time in all of these.

        Of each a value is given, several, or None for any. Values of the first five are those of `PurposeRow`; time in
        `no_core` is that of Python, and a native call is in its own layer also while it had no core. `function` is the
        native one, such as `time.sleep` of a wait. `doing` is one of the values of `DOING`, or "" of no such time.

        Returns:
            The innermost own function that more than half of the time passes, with all that it calls, and its line with
            most; if none has so much, the function with most. None where no stack was seen there, or none passes own
            code.
        """
        wanted = (phase, part, purpose, stage, operation, category, function)
        return self.stacks(process).own_line(*self._predicates(process, wanted, doing))

    def places(
        self,
        process: str,
        *,
        part: str | Collection[str] | None = None,
        purpose: str | Collection[str] | None = None,
        stage: str | Collection[str] | None = None,
        category: str | Collection[str] | None = None,
        function: str | Collection[str] | None = None,
        doing: str | None = None,
    ) -> list[tuple[OwnLine | None, float]]:
        """Return the lines that lead to a process's time in all of these, and the share of it that each has, up to 1.

        None is what passes no own code. Values are those of `of`.
        """
        wanted = (None, part, purpose, stage, None, category, function)
        return self.stacks(process).places(*self._predicates(process, wanted, doing))

    def times(self, process: str, **wanted: str | Collection[str]) -> list[StackTime]:
        """Return what the process did where stacks were seen in all of these; values are those of `of`."""
        values = [(name, _values(each)) for name, each in wanted.items()]
        return [
            time for time in self.stacks(process).times if all(getattr(time, name) in each for name, each in values)
        ]

    def shares_of_doing(self, process: str, **wanted: str | Collection[str]) -> dict[str, float]:
        """Return which part of the time in all of these does each of what `DOING` names, from 0 to 1."""
        stacks = self.stacks(process)
        if not any(stacks.doing):
            return {}
        seconds = sums((stacks.done_in(time), time.seconds) for time in self.times(process, **wanted))
        whole_s = sum(seconds.values())
        return {done: each / whole_s for done, each in seconds.items() if done and whole_s > 0}

    def _predicates(
        self, process: str, wanted: Sequence[str | Collection[str] | None], doing: str | None
    ) -> tuple[Callable[[StackTime], bool], Callable[[StackTime], bool]]:
        is_asked, is_like = _predicates(wanted)
        if doing is None:
            return is_asked, is_like
        stacks = self.stacks(process)
        return (
            lambda time: is_asked(time) and stacks.done_in(time) == doing,
            (lambda time: is_like(time) and stacks.done_in(time) == doing) if doing else is_like,
        )

    def wait_for_devices(self, process: str) -> tuple[str, str] | None:
        """Return the stage and the native function in which a process waits longest for devices; None if in none."""
        ticks = sums(
            ((row.stage, row.function), row.ticks) for row in self.processes[process].found.sync_points if row.function
        )
        return max(ticks, key=lambda place: (ticks[place], place), default=None)

    def own_share(self, process: str, category: str) -> float:
        """Return which part of a process's time in a layer passes own code that it was started to run, from 0 to 1.

        What its parent was in when it forked is not that, nor is what it imports.
        """
        stacks = self.stacks(process)
        return _share(self.times(process, category=category), lambda time: stacks.runs_own(time.stack))

    def stacks(self, process: str) -> ProcessStacks:
        """Return the stacks of a process."""
        if process not in self._made:
            self._made[process] = ProcessStacks(self.processes[process], self._loops, self._directory, self._programs)
        return self._made[process]

    @cached_property
    def _programs(self) -> set[str]:
        """Return the files with which processes began."""
        return _programs_in(row for process in self.processes.values() for row in process.found.stacks)


def _programs_in(stacks: Iterable[SweptStack]) -> set[str]:
    """Return the files with which processes began."""
    return {row.file for row in stacks if row.caller is None and row.function == "<module>"}


def _of_cuda_calls(row: SweptStackTime) -> SweptStackTime:
    """Return where the CUDA calls within a native one were made; the stack is counted with that one."""
    return row._replace(category=Category.CUDA.label, stacks=0)


def without_stacks(swept: TraceSweep) -> Iterator[str]:
    """Say of which processes stacks were not looked at to the end, and why."""
    for process in swept.processes:
        reason, until = (process.found.properties.get(name) for name in ("without_stacks", "stacks_until"))
        if isinstance(reason, str):
            yield f"{process.name}: stacks of Python were not looked at: {encodable(reason)}"
        if isinstance(until, str):
            yield (
                f"{process.name}: stacks of Python were not looked at any more when the program asked for "
                f"{encodable(until)}, which a process of one thread alone may call"
            )


def _place(row: SweptPurpose | SweptStackTime) -> tuple[str, ...]:
    return row.phase, row.part, row.purpose, row.stage, row.category


def _share(times: Iterable[StackTime], is_counted: Callable[[StackTime], bool]) -> float:
    """Return which part of the seconds is of times that count, from 0 to 1."""
    seconds = sums((is_counted(time), time.seconds) for time in times)
    whole_s = sum(seconds.values())
    return seconds.get(True, 0.0) / whole_s if whole_s > 0 else 0.0


def _predicates(
    wanted: Sequence[str | Collection[str] | None],
) -> tuple[Callable[[StackTime], bool], Callable[[StackTime], bool]]:
    """Return what says whether time has the wanted columns, and whether it has them in any layer, if no function is."""
    sets = [(place, _values(each)) for place, each in enumerate(wanted) if each is not None]
    layer = StackTime._fields.index("category")
    is_of_function = wanted[StackTime._fields.index("function")] is not None
    like = ([each for each in sets if each[0] < layer] if not is_of_function else []) or sets
    return (
        lambda time: all(time[place] in values for place, values in sets),
        lambda time: all(time[place] in values for place, values in like),
    )


def bare_name(name: str) -> str:
    """Return a function's name without its file and class."""
    return name.rpartition(" ")[2].rpartition(".")[2]


def is_public(name: str) -> bool:
    """Return whether a function is one that people call by its name: no helper, and made in no other function."""
    function = name.rpartition(" ")[2]
    return "<" not in name and not any(part.startswith("_") and not part.endswith("__") for part in function.split("."))


def _values(each: str | Collection[str]) -> Collection[str]:
    return (each,) if isinstance(each, str) else each
