"""Processor time of a process and of all that descend from it."""

from __future__ import annotations

import os
import resource
import signal
import time

#: Linux numbers the clock of a process so: the number's complement, and what is counted.
_SCHEDULED = 2


def descendants(pid: int) -> list[int]:
    """Return the processes below this one; parents come before their children."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
            children.setdefault(parent, []).append(int(name))
    found = [pid]
    for each in found:
        found += children.get(each, ())
    return found[1:]


def processor_ns(first: int) -> int:
    """Return the processor time of a process, of all below it, and of children of this one that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((ended.ru_utime + ended.ru_stime) * 1e9) + sum(map(_own_ns, [first, *descendants(first)]))


def _own_ns(pid: int) -> int:
    try:
        return time.clock_gettime_ns((~pid << 3) | _SCHEDULED)
    except OSError:  # it has ended
        return 0


def kill_all(first: int) -> None:
    """Kill a process and all below it but this one, the youngest first."""
    for pid in [*reversed(descendants(first)), first]:
        if pid != os.getpid():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:  # it has ended
                continue
