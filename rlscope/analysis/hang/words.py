"""This file says in one sentence what a chain of waits comes to."""

import signal
import time

from rlscope.analysis.hang.chain import Cause, Chain
from rlscope.analysis.hang.places import COMPUTES, UNKNOWN, WAITS, Process, Thread
from rlscope.analysis.hang.seen import Life
from rlscope.model import NS_PER_S

#: What a thread waits for, by the kind of thing; of others the function says it.
THINGS = {
    "thread": "a thread to end", "barrier": "the others of a barrier", "event": "an event", "condition": "a condition",
    "queue": "a queue", "future": "a future", "http": "an HTTP service", "import": "the lock of a module's import",
    "lock": "a lock", "semaphore": "a semaphore", "child": "a child process to end", "collective": "a collective",
    "processes": "any of its processes", "gpu": "the GPU", "pipe": "a pipe", "socket": "a socket",
    "tcp": "a network connection", "udp": "a network connection", "network": "the network", "disk": "a disk",
    "timer": "a timer", "events": "any of several events",
}  # fmt: skip


def sentence(chain: Chain) -> str:
    """Return who is stuck since when, and what ends the chain."""
    since = f" since {clock_time(chain.threads[0].since_ns)}" if chain.threads[0].doing != COMPUTES else ""
    links = [f"{whose(thread)} {doing(thread)}{_where(thread)}" for thread in chain.threads]
    return "; ".join([f"{links[0]}{since}", *links[1:], *_end(chain)])


def _end(chain: Chain) -> list[str]:
    if chain.end is not None:
        return [f"{chain.end.name} {life_words(chain.end)}"]
    if chain.cause is Cause.CYCLE:
        return ["they wait for each other"]
    if chain.cause is Cause.LOST:
        return ["the thread that has it is not there any more"]
    if chain.cause is Cause.NOBODY:
        return ["nobody is known who could end that"]
    return []


def whose(thread: Thread) -> str:
    """Return a thread's process, and which thread it is if that is not the main one."""
    return thread.process.name if thread.is_main else f"thread {thread.place.thread} of {thread.process.name}"


def doing(thread: Thread) -> str:
    """Return what a thread does."""
    if thread.doing == WAITS:
        return f"waits for {THINGS.get(thread.awaits, thread.function)}"
    return {COMPUTES: "computes", UNKNOWN: "is in Python or native code"}.get(thread.doing, f"is {thread.doing}")


def _where(thread: Thread) -> str:
    return f" at {thread.line}" if thread.line else ""


def clock_time(time_ns: int) -> str:
    """Return a time of the day here."""
    return time.strftime("%H:%M:%S", time.localtime(time_ns // NS_PER_S))


def life_words(process: Process) -> str:
    """Return how a process ended, or that it is stopped."""
    if process.life is Life.STOPPED:
        return "is stopped by a signal"
    status = process.exit_status
    if process.swept.ended_by:
        return f"was {process.swept.ended_by}"
    if status is None:
        return "has ended"
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"has ended with status {status}"
