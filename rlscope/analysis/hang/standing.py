"""This file finds where the threads of a run are at one moment, and why nothing goes on if nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rlscope._analysis import last_places
from rlscope.analysis.hang.chain import FINAL, Cause, Chain, Waits
from rlscope.analysis.hang.places import Process, Thread
from rlscope.analysis.hang.seen import Life, SeenProcess
from rlscope.analysis.hang.words import sentence
from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import TraceSweep
from rlscope.model import NS_PER_S
from rlscope.trace.locks import read_locks
from rlscope.trace.reader import ProcessFile

SCHEMA = 1
#: A wait that is not certain to be in vain is usual if it is shorter than so many iterations.
USUAL_ITERATIONS = 20
#: Processes of a run that is over have not ended before the others, but for more than this.
_TOGETHER_NS = NS_PER_S


class PlaceRow(Row):
    """This is where a thread is.

    Attributes:
        process: Its process.
        pid: The process's number on its machine.
        thread: Its own number there.
        is_main: Whether the process began with it.
        doing: `waits`, `computes`, `in native code`, or `not known`.
        since_s: For how long it has been there.
        awaits: What kind of thing it waits at; "" where that is none, or is not known.
        function: The function in C that it is in; "" in Python.
        channel: The channel that it waits at; "" where that is none.
        operation: The innermost operation that is open; "" if none is.
        line: The innermost line of the program's own code; "" if that is not known.
        on: The process that it waits for; None if that is not known.
        on_thread: The number of the thread there that it waits for; None if that is not known.
    """

    process: str
    pid: int
    thread: int
    is_main: bool
    doing: str
    since_s: float
    awaits: str
    function: str
    channel: str
    operation: str
    line: str
    on: str | None
    on_thread: int | None


class LifeRow(Row):
    """This is whether a process goes on.

    Attributes:
        process: The process.
        pid: Its number on its machine.
        life: `running`, `stopped` or `ended`.
        exit_status: What it ended with, negative for a signal; None if it goes on or that is not known.
        is_zombie: Whether it has ended, and its parent has not asked how.
        ended_by: Which other process ended it and how, where that one noted it; "" otherwise.
        ended_s: How long ago it ended; None if it goes on or that is not known.
    """

    process: str
    pid: int
    life: str
    exit_status: int | None
    is_zombie: bool
    ended_by: str
    ended_s: float | None


@dataclass(frozen=True)
class Standing:
    """This tells where the threads of a run are at one moment, and why nothing goes on if nothing does.

    Attributes:
        directory: The trace.
        is_running: Whether a process of it goes on.
        waits: Who waits for whom.
        iteration_s: How long an iteration takes on average; 0 where that is not known.
    """

    directory: Path
    is_running: bool
    waits: Waits
    iteration_s: float

    @cached_property
    def threads(self) -> list[Thread]:
        """Return the threads of all processes that have not ended, the main process's main thread first."""
        alive = [process for process in self.waits.processes if process.life is not Life.ENDED]
        return sorted(
            (thread for process in alive for thread in process.threads),
            key=lambda each: (not each.process.swept.file.is_main, each.process.swept.start_ns, not each.is_main),
        )

    @cached_property
    def chain(self) -> Chain | None:
        """Return the chain of the main process's main thread; of another one if that waits and only others are certain.

        None if all processes have ended.
        """
        chains = [self.waits.chain_from(thread) for thread in self.threads]
        certain = [chain for chain in chains if chain.is_certain and self.waits.is_stuck(chain)]
        if not chains or chains[0].cause is Cause.BUSY or chains[0] in certain:
            return next(iter(chains), None)
        return min(certain, key=lambda chain: chain.since_ns, default=chains[0])

    @property
    def is_stuck(self) -> bool:
        """Return whether nothing goes on along the chain, for longer than iterations usually take."""
        if self.chain is None or not self.waits.is_stuck(self.chain):
            return False
        waited_s = self._ago_s(self.chain.since_ns)
        return self.chain.is_certain or waited_s >= USUAL_ITERATIONS * self.iteration_s

    @property
    def is_trouble(self) -> bool:
        """Return whether what is stuck was to go on.

        A single thread that waits for nobody of the run may ask a person, or sleep as it is to: that is trouble only in
        a training that made iterations before.
        """
        if self.chain is None or not self.is_stuck:
            return False
        is_waited_for = self.chain.cause in FINAL or len(self.chain.threads) > 1
        return is_waited_for or (self.iteration_s > 0 and self.chain.cause is not Cause.TIMER)

    @property
    def stuck_s(self) -> float:
        """Return for how long nothing has gone on; 0 if it does."""
        return self._ago_s(self.chain.since_ns) if self.chain is not None and self.is_stuck else 0.0

    @property
    def sentence(self) -> str:
        """Return the answer in words."""
        return sentence(self.chain) if self.chain is not None else "all processes have ended"

    def rows(self) -> Rows[PlaceRow]:
        """Make one row per thread that has made a call or is in the chain."""
        chain = self.chain.threads if self.chain is not None else ()
        silent = (thread for thread in chain if thread not in self.threads)
        return Rows(PlaceRow, map(self._row, [*self.threads, *silent]))

    def _row(self, thread: Thread) -> PlaceRow:
        on = self.waits.following(thread)
        return PlaceRow(
            process=thread.process.name,
            pid=thread.process.pid,
            thread=thread.place.thread,
            is_main=thread.is_main,
            doing=thread.doing,
            since_s=self._ago_s(thread.since_ns),
            awaits=thread.awaits,
            function=thread.function,
            channel=thread.channel,
            operation=thread.operation,
            line=thread.line,
            on=on.process.name if on is not None else None,
            on_thread=on.thread.place.thread if on is not None and on.thread is not None else None,
        )

    def lives(self) -> Rows[LifeRow]:
        """Make one row per process."""
        return Rows(
            LifeRow,
            (
                LifeRow(
                    process=process.name,
                    pid=process.pid,
                    life=process.life.value,
                    exit_status=process.exit_status,
                    is_zombie=process.seen is not None and process.seen.is_zombie,
                    ended_by=process.swept.ended_by,
                    ended_s=self._ago_s(process.end_ns) if process.end_ns is not None else None,
                )
                for process in self.waits.processes
            ),
        )

    def _ago_s(self, time_ns: int) -> float:
        return max(self.waits.now_ns - time_ns, 0) / NS_PER_S

    def to_json_dict(self) -> dict[str, object]:
        """Return the document of `rlscope why --json`."""
        chain = self.chain
        return {
            "schema": SCHEMA,
            "trace": str(self.directory),
            "running": self.is_running,
            "stuck": self.is_stuck,
            "stuck_s": self.stuck_s,
            "trouble": self.is_trouble,
            "cause": chain.cause.value if chain is not None else None,
            "sentence": self.sentence,
            "chain": [
                {"process": thread.process.name, "thread": thread.place.thread} for thread in chain.threads
            ] if chain is not None else [],
            "end": chain.end.name if chain is not None and chain.end is not None else None,
            "threads": self.rows().records(),
            "processes": self.lives().records(),
        }  # fmt: skip


def standing_at(swept: TraceSweep, seen: Mapping[Path, SeenProcess], time_ns: int, is_running: bool) -> Standing:
    """Find where the threads of a run are.

    Args:
        swept: The run.
        seen: What the system says of its processes.
        time_ns: When, in ns since 1970.
        is_running: Whether a process goes on, and this is now; else it is when the run ended.
    """
    processes = []
    for process in swept.processes:
        end_ns = _end_ns(process.file)
        is_finished = process.file.header.stop_ticks != 0
        if not (is_running or is_finished) and end_ns is not None and end_ns > time_ns - _TOGETHER_NS:
            end_ns = None
        known = seen.get(process.file.path) if is_running else None
        path = process.file.path
        processes.append(Process(process, last_places(path, recover=True), read_locks(path), known, end_ns))
    return Standing(swept.trace.directory, is_running, Waits(processes, time_ns), iteration_s_of(swept))


def iteration_s_of(swept: TraceSweep) -> float:
    """Return how long an iteration took, on average, in the process that made most of them; 0 without any."""
    training = max(
        (
            (training.iterations, process, training)
            for process in swept.processes
            for training in process.found.trainings
        ),
        key=lambda each: each[0],
        default=None,
    )
    if training is None:
        return 0.0
    iterations, process, found = training
    return process.length_ns(found.last_ticks - found.first_ticks) / NS_PER_S / max(iterations, 1)


def _end_ns(file: ProcessFile) -> int | None:
    """Return when a process ended, in ns since 1970; None where nobody saw it."""
    ticks = file.header.stop_ticks or file.limit_ticks
    return file.clock.realtime_ns(ticks) if ticks else None


def last_ns(file: ProcessFile) -> int:
    """Return when a process ended, or was last heard of, in ns since 1970."""
    return _end_ns(file) or file.clock.realtime_ns(file.header.last_pair.ticks)
