"""This file reads which processes another one of the run has ended by a signal: they have lost nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from dataclasses import dataclass

from rlscope.analysis.swept import Swept
from rlscope.trace.format import EndReason
from rlscope.trace.reader import ProcessFile

#: What the sweep says of a file that its process did not complete.
NOT_COMPLETED = "recording did not end in an orderly way: the process was killed or is still running"
#: What a process recorded later than this after the signal shows that it did not end by it.
LONGEST_END_NS = 1_000_000_000
_KEY = "ended "
#: Ends its workers, and itself, when the process that has started it does not need them any more.
RAY = "Ray"
#: No machine runs for longer, so that times stay numbers of 64 bits.
_LATEST_NS = 1 << 58


@dataclass(frozen=True)
class End:
    """A note: which process (by boot id and pid) was ended, when by CLOCK_MONOTONIC, and how in words."""

    process: tuple[bytes, int]
    monotonic_ns: int
    by: str


def noted_ends(file: ProcessFile, properties: dict[str, object]) -> list[End]:
    """Return the notes in the properties of a process, each of which is how and when; others are ignored."""
    found = []
    for key, value in properties.items():
        pid = key.removeprefix(_KEY)
        if pid == key or not pid.isdecimal() or not isinstance(value, list) or len(value) != 2:
            continue
        how, monotonic_ns = _how(value[0]), value[1]
        if how and type(monotonic_ns) is int:
            by = f"ended by process {file.header.pid} ({how})"
            found.append(End((file.header.boot_id, int(pid)), monotonic_ns, by))
    return found


def _how(noted: object) -> str:
    """Return a signal's name, from its number, or what sends it in a process's place; empty for anything else."""
    if noted == RAY:
        return RAY
    return signal.Signals(noted).name if type(noted) is int and noted in set(signal.Signals) else ""


def end_of(file: ProcessFile, found: Swept, ends: Iterable[End]) -> End | None:
    """Return how a process ended that was ended by another; None for any other, and where work of a GPU may be missing.

    A process id may come back, so the signal must lie between what the process began and ended with.
    """
    header = file.header
    cuda = found.properties.get("cuda")
    is_left = header.stop_ticks == 0 and header.end_reason == EndReason.NONE and file.limit_ticks == 0
    if not is_left or (isinstance(cuda, dict) and cuda.get("state") not in ("off", "waiting")):
        return None
    first_ns = file.clock.monotonic_ns(header.start_ticks)
    last_ns = file.clock.monotonic_ns(found.last_record_ticks)
    for end in ends:
        is_its = end.process == (header.boot_id, header.pid)
        is_then = first_ns <= end.monotonic_ns <= _LATEST_NS and last_ns <= end.monotonic_ns + LONGEST_END_NS
        if is_its and is_then:
            return end
    return None
