"""This file finds in the analysis of a run what more than one rule looks at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from rlscope.analysis.account.account import IMPORTING, AccountRow, group_name
from rlscope.analysis.account.causes import Cause
from rlscope.analysis.account.owner_path import rounds, without_numbers
from rlscope.analysis.lines.own_lines import bare_name
from rlscope.analysis.rows import sums
from rlscope.analysis.run import Run
from rlscope.analysis.run_tables import RunTables
from rlscope.analysis.table_rows import ProcessRow
from rlscope.model import INFERENCE, SIMULATION, Category
from rlscope.record.blocking import LOCK
from rlscope.rules.finding import Found, Place
from rlscope.rules.source import Line, Source
from rlscope.rules.stacks import TrainingStacks, is_in_file
from rlscope.text import line_text
from rlscope.text.numbers import percent

#: They are no part of the time in which a run trains.
_AROUND = (Cause.STARTING_UP, Cause.AFTERWARDS, Cause.RECORDING, Cause.STUCK)
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
#: A `with` statement takes a lock by such a function; who waits for an answer of another thread calls others.
_OF_WITH = ".__enter__"
#: So many sets of processes must have lived one after the other.
_LEAST_ROUNDS = 3
#: The layers of a process that does something.
_WORKING = tuple(each.label for each in (Category.PYTHON, Category.NATIVE, Category.BACKEND, Category.SIMULATOR))


class Evidence:
    """The tables of a run, and what several rules need of them, each found once.

    Attributes:
        tables: The tables.
        process: The process that paces the run; empty if none took time.
        stacks: What time passes which functions and lines.
    """

    def __init__(self, run: Run, tables: RunTables) -> None:
        self.tables = tables
        self.process = tables.path.process if tables.path is not None else ""
        self._lines = run.own_lines(tables.loops)
        self._processes = {each.name: each for each in run.swept.processes}
        self.directory = str(run.swept.trace.manifest.get("directory"))
        self._source = Source(self.directory)
        self.stacks = TrainingStacks(self.process, tables, self._lines, self._source, self.directory)

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
        kinds = {row.process: (without_numbers(row.process), row.parent) for row in self.tables.processes}
        return [name for name in kinds if name != self.process and kinds[name] == kinds.get(self.process)]

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
        whole_s = sum(row.seconds for row in rows if row.category not in self.stacks.left_out)
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

    def made(self, names: Collection[str], otherwise: Place, is_seen: bool = False) -> Place:
        """Return where the program's own code calls a function or class of these names first: that is to be changed.

        Args:
            names: `EvalCallback`, without its module; or of an argument, `render_mode`.
            otherwise: What is returned where it is not called, or the source is not there.
            is_seen: Whether it has to be in a function that stacks of the process pass, or in none: others may be of
                another process.
        """
        stacks = self._lines.stacks(self.process) if self.process else None
        if stacks is None or not names:
            return otherwise
        own = [row for row, is_own in zip(stacks.stacks, stacks.is_own, strict=True) if is_own]
        seen = {"<module>", *(bare_name(row.function) for row in own)}
        for file in dict.fromkeys(row.file for row in own):
            for function, line in self._source.made(file, names):
                if is_seen and function not in seen:
                    continue
                return Place(function, file.removeprefix(f"{self.directory}/"), line)
        return otherwise

    def line_at(self, place: Place) -> Line | None:
        """Return what is on a line of the program's own code; None where that is not known."""
        return self._source.line_of(str(Path(self.directory, place.file)), place.line) if place.line else None

    def made_for(self, cause: Cause) -> Place:
        """Return where the program makes what does all this: `EvalCallback(...)`; else where most of the time is."""
        return self.made(self.stacks.classes_of(cause), self.at(cause))

    def cause(
        self, cause: Cause, change: str, seconds: float | None = None, made: Collection[str] = (), forecast: str = ""
    ) -> Iterator[Found]:
        """Yield a change of a cause that has all of its own time, or these seconds.

        `made` is as `made()` takes it, and `forecast` as `Found` has it.
        """
        found_s = self.seconds(cause) if seconds is None else seconds
        if found_s >= LEAST_SHARE * self.training_s > 0:
            place = self.made(made, self.made_for(cause))
            said = f"{change}; {self.share(found_s)} of the training{where(place)}"
            yield Found(said, f"account: cause={cause.value}", found_s, place, forecast=forecast)

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
            return name.startswith(begins) and not name.startswith(but) if is_in_file(name) else name in begins

        passing = self.stacks.passing(is_wanted, is_on_line=is_on_line, is_whole=is_whole)
        if passing is not None:
            said = f"{change}: {passing.function} has {self.share(passing.seconds)} of the training"
            yield Found(f"{said}{where(passing.place)}", "functions: stage, purpose=training", *passing[1:])


def place_of(row: AccountRow | None) -> Place:
    """Return where most of a row of an account is."""
    return Place(row.function, row.file, row.line) if row is not None and row.line else Place()


def where(place: Place) -> str:
    """Return the place as the end of a sentence: ` (train.py:88)`; empty where no line is known."""
    return f" ({line_text(place.file, place.line)})" if place.line else ""
