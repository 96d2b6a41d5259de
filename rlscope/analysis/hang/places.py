"""This file says of each thread what it does at its last record: what it waits in, for what, on which line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from rlscope.analysis.hang.seen import Life, SeenProcess
from rlscope.analysis.hang.swept import OpenCall, ProcessPlaces, StackPlace, ThreadPlace
from rlscope.analysis.lines.tables import is_packaged, short_path
from rlscope.analysis.sweep import ProcessSweep
from rlscope.analysis.tables.wait_kinds import kind_of_wait
from rlscope.model import Category
from rlscope.trace.format import AwaitedObject, TakenLock
from rlscope.trace.locks import Locks

LOCK, BARRIER, IMPORT, PROCESSES = "lock", "barrier", "import", "processes"
#: What a thread waits at, by the function of Python's library that it waits in, as its file and its qualified name. In
#: traces of Python 3.10 the name lacks the class.
AWAITED = {
    ("threading.py", "Thread.join"): "thread",
    ("threading.py", "Barrier.wait"): BARRIER,
    ("threading.py", "Event.wait"): "event",
    ("threading.py", "Condition.wait"): "condition",
    ("multiprocessing/synchronize.py", "Event.wait"): "event",
    ("multiprocessing/synchronize.py", "Condition.wait"): "condition",
    ("queue.py", "Queue.get"): "queue",
    ("queue.py", "Queue.put"): "queue",
    ("multiprocessing/queues.py", "Queue.get"): "queue",
    ("multiprocessing/queues.py", "Queue.put"): "queue",
    ("multiprocessing/queues.py", "SimpleQueue.get"): "queue",
    ("multiprocessing/queues.py", "SimpleQueue.put"): "queue",
    ("concurrent/futures/_base.py", "Future.result"): "future",
    ("multiprocessing/pool.py", "ApplyResult.get"): "future",
    ("multiprocessing/connection.py", "wait"): PROCESSES,
    ("http/client.py", "HTTPConnection.getresponse"): "http",
    ("<frozen importlib._bootstrap>", "_ModuleLock.acquire"): IMPORT,
}
#: Of a wait that no function above explains, by the package and the last name of the function that waits, or its kind.
SEMAPHORE, CHILD, COLLECTIVE = "semaphore", "child", "collective"
_BY_FUNCTION = {"_multiprocessing": SEMAPHORE, "_queue": "queue"}
_BY_KIND = {"process": CHILD, "communication": COLLECTIVE}
#: In which ways a thread does what it does.
WAITS, COMPUTES, NATIVE, UNKNOWN = "waits", "computes", "in native code", "not known"
#: A thread that runs a module for the first time is in this function.
_RUNS_MODULE = ("<frozen importlib._bootstrap>", "_load_unlocked")
#: Python's own code is frozen.
_FROZEN = "<frozen "
#: Where a checkout has what stands in the place of a library's functions.
_RLSCOPE = f"{Path(__file__).parents[2]}/"


@dataclass(frozen=True)
class Thread:
    """A thread of a process, at its last record.

    Attributes:
        process: Its process.
        place: What it had begun and not ended.
        doing: WAITS, COMPUTES, NATIVE, or UNKNOWN where it is in Python or native code of a process that is gone.
        since_ns: Since when it does that: since its last call began, or since its last record. In ns since 1970.
    """

    process: Process
    place: ThreadPlace

    @cached_property
    def call(self) -> OpenCall | None:
        """Return the innermost call, None in Python."""
        last = self.place.calls[-1] if self.place.calls else None
        return last if last is not None and last.kind not in ("operation", "phase") else None

    @property
    def number(self) -> int:
        """Return its number in the system."""
        return self.place.thread

    @property
    def awaited(self) -> AwaitedObject | None:
        """Return the lock, semaphore, thread or process that it waits for; None if that is not known."""
        return self.process.locks.awaited.get(self.number) if self.doing == WAITS else None

    @property
    def operation(self) -> str:
        """Return the innermost operation that is open; "" if none is."""
        return next((call.name for call in reversed(self.place.calls) if call.kind == "operation"), "")

    @cached_property
    def doing(self) -> str:
        """Return what it does."""
        if self.call is not None and self.call.kind == Category.WAIT.label:
            return WAITS
        seen = self.process.seen
        is_busy = seen.busy.get(self.place.thread) if seen is not None else None
        if is_busy is None:
            return UNKNOWN
        return COMPUTES if is_busy else NATIVE

    @property
    def since_ns(self) -> int:
        """Return since when, in ns since 1970."""
        started = self.call.start_ticks if self.call is not None else 0
        return self.process.swept.file.clock.realtime_ns(started or self.place.last_ticks)

    @property
    def is_main(self) -> bool:
        """Return whether the process began with it."""
        return self.place.thread == self.process.pid

    @property
    def function(self) -> str:
        """Return the function in C that it is in; "" in Python."""
        return self.call.name.partition(" ")[0] if self.call is not None else ""

    @property
    def channel(self) -> str:
        """Return the channel that it waits at; "" if that is none."""
        return self.call.name.partition(" ")[2] if self.call is not None else ""

    @cached_property
    def stack(self) -> Sequence[StackPlace]:
        """Return its Python stack, the innermost frame first, where one was seen since it does this; else none."""
        started = self.call.start_ticks if self.call is not None else self.place.last_ticks
        return self.place.stack if self.place.stack_ticks >= started > 0 else ()

    @property
    def line(self) -> str:
        """Return its innermost line of the program's own code, as `train.py:88 main`; "" if that is not known."""
        for frame in self.stack:
            if _is_own(frame):
                return f"{PurePath(short_path(frame.file)).name}:{frame.line} {frame.function}"
        return ""

    @cached_property
    def awaits(self) -> str:
        """Return what kind of thing it waits at; "" if it does not wait, or that is not known."""
        if self.doing != WAITS:
            return ""
        for frame in reversed(self._library_frames()):
            name = (short_path(frame.file), frame.function)
            found = AWAITED.get(name) or _without_class().get(name)
            if found:
                return found
        kind = kind_of_wait(self.function, self.channel)
        if self.channel and not self.channel.startswith("group:"):
            return self.channel.partition(":")[0]
        return _BY_FUNCTION.get(self.function.partition(".")[0]) or _BY_KIND.get(kind, kind)

    @property
    def imports(self) -> bool:
        """Return whether it is in the middle of an import of which it runs the module."""
        return any((frame.file, frame.function) == _RUNS_MODULE for frame in self.stack)

    def _library_frames(self) -> list[StackPlace]:
        """Return the frames between the own code and the call, the innermost first."""
        found = []
        for frame in self.stack:
            if _is_own(frame):
                break
            found.append(frame)
        return found


def _is_own(frame: StackPlace) -> bool:
    return not (is_packaged(frame.file) or frame.file.startswith((_FROZEN, _RLSCOPE)))


def _without_class() -> dict[tuple[str, str], str]:
    return {(file, name.rpartition(".")[2]): kind for (file, name), kind in AWAITED.items()}


class Process:
    """A process of the run.

    Attributes:
        swept: Its name, its file, and its properties.
        locks: Who has which lock, and which thread waits for what.
        seen: What the system says of it; None where it says nothing, as of one of another machine.
        life: Whether it goes on, at the moment that is looked at.
        threads: Its threads, those that have not ended.
        waits: The functions that it has waited in at channels, with these.
        end_ns: When it ended, in ns since 1970; None if it goes on, or nobody saw it.
    """

    def __init__(
        self,
        swept: ProcessSweep,
        places: ProcessPlaces,
        locks: Locks,
        seen: SeenProcess | None,
        end_ns: int | None,
    ) -> None:
        """Find the threads of a process, which ended at `end_ns` since 1970; None if it had not."""
        self.swept = swept
        self.locks = locks
        self.seen = seen
        self.end_ns = end_ns
        self.life = seen.life if seen is not None else Life.ENDED if end_ns is not None else Life.RUNNING
        self._alive = seen.busy if seen is not None and seen.busy else None
        self.threads = [Thread(self, place) for place in places.threads if self._is_alive(place)]
        self.waits = [(name.partition(" ")[0], name.partition(" ")[2]) for (name,) in places.waits]

    def _is_alive(self, place: ThreadPlace) -> bool:
        """Tell whether a thread has not ended: where the system does not show it, it is in the middle of something."""
        return place.thread == self.pid or (bool(place.calls) if self._alive is None else place.thread in self._alive)

    def thread(self, taken: TakenLock) -> Thread | None:
        """Return the thread that has taken a lock, which need not have made any call; None if it has ended."""
        known = (thread for thread in self.threads if thread.number == taken.thread_id)
        if self._alive is not None and taken.thread_id not in self._alive:
            return None
        return next(known, Thread(self, ThreadPlace(taken.thread_id, taken.ticks, [], [], 0)))

    @property
    def pid(self) -> int:
        """Return its number on its machine."""
        return self.swept.file.header.pid

    @property
    def exit_status(self) -> int | None:
        """Return what it ended with, negative for a signal; None if it goes on or nobody knows."""
        if self.life is not Life.ENDED:
            return None
        known = self.swept.file.exit_status
        return self.seen.exit_status if known is None and self.seen is not None else known

    @property
    def ended_in_order(self) -> bool:
        """Return whether it completed its recording and did not fail."""
        return self.swept.file.header.stop_ticks != 0 and not self.exit_status

    @property
    def name(self) -> str:
        """Return its name, which is unique in the trace."""
        return self.swept.name

    @property
    def boot_id(self) -> bytes:
        """Return what tells its machine from others."""
        return self.swept.file.header.boot_id
