"""This file follows waits: for whom a thread waits, for whom that one waits, to whoever ends the chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from rlscope.analysis.account.owner_path import INFRASTRUCTURE
from rlscope.analysis.hang.places import (
    BARRIER,
    CHILD,
    COLLECTIVE,
    COMPUTES,
    IMPORT,
    LOCK,
    NATIVE,
    PROCESSES,
    UNKNOWN,
    WAITS,
    Process,
    Thread,
)
from rlscope.analysis.hang.seen import Life
from rlscope.analysis.tables.dependencies import end_of, sends
from rlscope.record.blocking import EVENTS, TIMER
from rlscope.trace.format import AwaitedObject, ObjectKind


class Cause(Enum):
    """A chain of waits ends in one of these."""

    CYCLE = "cycle"  # they wait for each other
    ENDED = "ended"  # a process that cannot answer any more
    STOPPED = "stopped"  # a process that a signal stopped
    LOST = "lost"  # a lock that nobody gives back: the thread that has it has ended, or was not forked with the process
    NATIVE = "native"  # code without a boundary, which does not use a core
    TIMER = "timer"  # a thread that sleeps
    EVENTS = "events"  # a thread that waits for whichever of several channels comes first
    NOBODY = "nobody"  # nobody is known who could end the wait
    BUSY = "busy"  # a thread that computes
    UNKNOWN = "not known"  # a thread in Python, of a process that is gone


#: With these nothing goes on, however long one waits.
FINAL = (Cause.CYCLE, Cause.ENDED, Cause.STOPPED, Cause.LOST)
#: A wait that is shorter may be about to end.
LEAST_WAIT_NS = 1_000_000_000
#: Threads that wait for so long without a final cause are stuck if nobody computes.
PATIENCE_NS = 5_000_000_000


@dataclass(frozen=True)
class Peer:
    """A process that could end a wait, and the thread of it if that is known."""

    process: Process
    thread: Thread | None = None


@dataclass(frozen=True)
class Chain:
    """A chain of waits.

    Attributes:
        threads: Those that wait, each for the next one; the last one waits for `end`, or ends the chain itself.
        cause: What it ends in.
        end: The process that has ended or is stopped; None with another cause.
        is_certain: Whether nothing can go on: nobody but those of the chain could end one of its waits.
    """

    threads: tuple[Thread, ...]
    cause: Cause
    end: Process | None
    is_certain: bool

    @property
    def since_ns(self) -> int:
        """Return since when all of them are where they are, in ns since 1970."""
        return max(thread.since_ns for thread in self.threads)


class Waits:
    """This tells who waits for whom in a run, at one moment."""

    def __init__(self, processes: Sequence[Process], now_ns: int) -> None:
        """Look at the processes as they are at a time, in ns since 1970."""
        self.processes = processes
        self.now_ns = now_ns

    def peers(self, thread: Thread) -> list[Peer]:
        """Return who could end a thread's wait; none if nobody is known."""
        if thread.doing != WAITS:
            return []
        if thread.awaits == COLLECTIVE:
            return self._late_members(thread)
        if thread.channel:
            return [Peer(process) for process in self._at_other_end(thread)]
        if thread.awaits == IMPORT:
            return [
                Peer(thread.process, other) for other in thread.process.threads if other.imports and other != thread
            ]
        awaited = thread.awaited
        if awaited is None:
            return self._children(thread.process) if thread.awaits in (CHILD, PROCESSES) else []
        if awaited.kind == ObjectKind.LOCK:
            holder = self._holder_of_lock(thread, awaited)
            return [holder] if holder is not None else []
        if awaited.kind == ObjectKind.SEMAPHORE:
            return (
                self._late_at_barrier(thread, awaited) if thread.awaits == BARRIER else self._holders(thread, awaited)
            )
        if awaited.kind == ObjectKind.THREAD:
            return [Peer(thread.process, other) for other in thread.process.threads if other.number == awaited.object]
        children = [
            each for each in self.processes if (each.boot_id, each.pid) == (thread.process.boot_id, awaited.object)
        ]
        return [Peer(child) for child in children[-1:]]

    def _children(self, parent: Process) -> list[Peer]:
        """Return the processes that one has started, but those that only serve others."""
        return [
            Peer(each)
            for each in self.processes
            if (each.boot_id, each.swept.file.header.parent_pid) == (parent.boot_id, parent.pid)
            and each.swept.role != INFRASTRUCTURE
        ]

    def _holder_of_lock(self, thread: Thread, awaited: AwaitedObject) -> Peer | None:
        """Return the thread that has a lock; the thread itself waits to be notified, unless its own code asks again."""
        taken = thread.process.locks.taken.get(awaited.object)
        if taken is None or (taken.thread_id == thread.number and thread.awaits != LOCK):
            return None
        holder = thread.process.thread(taken)
        return Peer(thread.process, holder) if holder is not None else None

    def _has_lost(self, thread: Thread) -> bool:
        """Tell whether a thread waits for a lock whose holder has ended, or is a thread of the process's parent."""
        awaited = thread.awaited
        if awaited is None or awaited.kind != ObjectKind.LOCK or thread.awaits != LOCK:
            return False
        process = thread.process
        taken = process.locks.taken.get(awaited.object)
        if taken is not None:
            return process.thread(taken) is None
        header = process.swept.file.header
        parents = (each for each in self.processes if (each.boot_id, each.pid) == (header.boot_id, header.parent_pid))
        inherited = (parent.locks.taken.get(awaited.object) for parent in parents)
        return any(taken is not None and taken.ticks <= header.start_ticks for taken in inherited)

    def _holders(self, thread: Thread, awaited: AwaitedObject) -> list[Peer]:
        """Return the thread that has acquired a semaphore last, of whichever process."""
        found = [
            (process, taken)
            for process in self.processes
            if process.boot_id == thread.process.boot_id
            and (taken := process.locks.taken.get(awaited.object)) is not None
        ]
        return [Peer(each, each.thread(taken)) for each, taken in sorted(found, key=lambda each: each[1].ticks)[-1:]]

    def _late_at_barrier(self, thread: Thread, awaited: AwaitedObject) -> list[Peer]:
        """Return the processes with the same parent that do not wait at a barrier."""
        header = thread.process.swept.file.header
        return [
            Peer(process)
            for process in self._others(thread)
            if (process.boot_id, process.swept.file.header.parent_pid) == (header.boot_id, header.parent_pid)
            and not any(
                other.awaited is not None and other.awaited.object == awaited.object for other in process.threads
            )
        ]

    def _late_members(self, thread: Thread) -> list[Peer]:
        """Return the members of a communicator that are not in a call of it."""
        end = end_of(thread.channel, thread.process.boot_id)
        members = [process for process in self._others(thread) if self._uses(process, end)]
        return [
            Peer(process)
            for process in members
            if not any(other.channel == thread.channel for other in process.threads)
        ]

    def _at_other_end(self, thread: Thread) -> list[Process]:
        """Return who reads what this thread writes or writes what it reads, or has used the channel, or has it open."""
        end = end_of(thread.channel, thread.process.boot_id)
        is_sending = sends(thread.function)
        others = [process for process in self._others(thread) if self._uses(process, end)]
        opposite = [process for process in others if self._uses(process, end, not is_sending)]
        if opposite or others:
            return opposite or others
        mode = "r" if is_sending else "w"
        opened = [
            process
            for process in self._others(thread)
            if process.boot_id == thread.process.boot_id
            and process.seen is not None
            and mode in process.seen.pipes.get(thread.channel, "")
        ]
        return opened or [thread.process] * self._uses(thread.process, end, not is_sending)

    def _others(self, thread: Thread) -> Iterator[Process]:
        return (process for process in self.processes if process is not thread.process)

    @staticmethod
    def _uses(process: Process, end: tuple[bytes, str], is_sending: bool | None = None) -> bool:
        return any(
            end_of(channel, process.boot_id) == end and is_sending in (None, sends(function))
            for function, channel in process.waits
        )

    def chain_from(self, thread: Thread) -> Chain:
        """Follow the waits of a thread."""
        passed, end, is_alone = [thread], None, True
        while True:
            peer = self.following(passed[-1])
            if peer is None:
                cause = self._cause_of(passed[-1])
                break
            others = (other for other in self.peers(passed[-1]) if other.process is not peer.process)
            is_alone = is_alone and all(other.process.life is not Life.RUNNING for other in others)
            if peer.process.life is not Life.RUNNING:
                cause = Cause.ENDED if peer.process.life is Life.ENDED else Cause.STOPPED
                end = peer.process
                break
            if peer.thread is None or peer.thread in passed:
                cause = Cause.NOBODY if peer.thread is None else Cause.CYCLE
                break
            passed.append(peer.thread)
        return Chain(tuple(passed), cause, end, is_alone and cause in FINAL)

    def following(self, thread: Thread) -> Peer | None:
        """Return for whom a thread waits, and for which thread of it; None if it does not wait, or nobody is known."""
        peer = self._likeliest(thread)
        if peer is None or peer.thread is not None or peer.process.life is not Life.RUNNING:
            return peer
        return Peer(peer.process, self._thread_at_other_end(peer.process, thread))

    def _likeliest(self, thread: Thread) -> Peer | None:
        """Return the peer that the wait depends on.

        It is any that computes, else one that was ended or is stopped, else one that waits for somebody itself, else
        the first; last comes one that ended in order, as workers do that others replace.
        """
        peers = self.peers(thread)

        def rank(peer: Peer) -> int:
            if peer.process.life is not Life.RUNNING:
                return 4 if peer.process.ended_in_order else 1
            threads = [peer.thread] if peer.thread is not None else peer.process.threads
            if any(each.doing in (COMPUTES, UNKNOWN) for each in threads):
                return 0
            return 2 if len(peers) > 1 and any(each.is_main and self.peers(each) for each in threads) else 3

        return min(peers, key=rank, default=None)

    def _thread_at_other_end(self, process: Process, waiting: Thread) -> Thread | None:
        """Return the thread of a process that a channel's other end is likely to be served by.

        It is one that is at that channel itself, else one that computes, else the main thread or one of the others that
        was active last; one that waits for any of several events serves nobody now.
        """

        def rank(thread: Thread) -> tuple[bool, bool, bool, bool, int]:
            is_serving = thread.awaits not in (EVENTS, "condition")
            return (
                thread.channel != waiting.channel,
                thread.doing != COMPUTES,
                not is_serving,
                not thread.is_main,
                -thread.since_ns,
            )

        return min((thread for thread in process.threads if thread is not waiting), key=rank, default=None)

    def _cause_of(self, thread: Thread) -> Cause:
        if thread.doing != WAITS:
            return {COMPUTES: Cause.BUSY, NATIVE: Cause.NATIVE, UNKNOWN: Cause.UNKNOWN}[thread.doing]
        if self._has_lost(thread):
            return Cause.LOST
        return {TIMER: Cause.TIMER, EVENTS: Cause.EVENTS}.get(thread.awaits, Cause.NOBODY)

    def is_stuck(self, chain: Chain) -> bool:
        """Tell whether nothing goes on along a chain: that is sure, or nobody has moved for long."""
        waited_ns = self.now_ns - chain.since_ns
        if chain.is_certain:
            return waited_ns >= LEAST_WAIT_NS
        return chain.cause not in (Cause.BUSY, Cause.UNKNOWN) and waited_ns >= PATIENCE_NS
