"""Processor time of a process and of all that descend from it."""

from __future__ import annotations

import os
import signal
import time

#: Linux numbers the clock of a process so: the number's complement, and what is counted.
_SCHEDULED = 2
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class _Process:
    """A process as /proc shows it.

    Attributes:
        pid: Its number.
        parent: That of its parent.
        ended_ns: Processor time of those of its children that have ended, in the kernel's ticks.
    """

    def __init__(self, pid: int) -> None:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        self.pid = pid
        self.parent = int(fields[1])
        self.ended_ns = (int(fields[13]) + int(fields[14])) * _TICK_NS

    def own_ns(self) -> int:
        """Return its processor time without that of children."""
        try:
            return time.clock_gettime_ns((~self.pid << 3) | _SCHEDULED)
        except OSError:  # it has ended
            return 0


def _family(first: int) -> list[_Process]:
    """Return a process and those below it; parents come before their children."""
    children: dict[int, list[_Process]] = {}
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                process = _Process(int(name))
            except OSError:  # it has ended
                continue
            children.setdefault(process.parent, []).append(process)
            if process.pid == first:
                found = [process]
    for each in found:
        found += children.get(each.pid, ())
    return found


def descendants(pid: int) -> list[int]:
    """Return the processes below this one; parents come before their children."""
    return [process.pid for process in _family(pid)[1:]]


def processor_ns(first: int) -> int:
    """Return the processor time of a process, and of all below it, also of those that ended and were waited for."""
    return sum(process.own_ns() + process.ended_ns for process in _family(first))


def kill_all(first: int) -> None:
    """Kill a process and all below it but this one, the youngest first."""
    for pid in [*reversed(descendants(first)), first]:
        if pid != os.getpid():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:  # it has ended
                continue
