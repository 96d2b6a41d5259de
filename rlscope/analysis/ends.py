"""Processes that another one of the run has ended by a signal, as it noted: nothing that they recorded is missing."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlscope.trace.format import EndReason
from rlscope.trace.reader import ProcessFile

if TYPE_CHECKING:
    from rlscope._analysis import SweepDict

#: What the sweep says of a file that its process did not complete.
NOT_COMPLETED = "recording did not end in an orderly way: the process was killed or is still running"
#: What a process recorded later than this after the signal shows that it did not end by it.
LONGEST_END_NS = 1_000_000_000
_KEY = "ended "
#: No machine runs for longer, so that times stay numbers of 64 bits.
_LATEST_NS = 1 << 58


@dataclass(frozen=True)
class End:
    """A note: which process (by boot id and pid) was ended, when by CLOCK_MONOTONIC, and how in words."""

    process: tuple[bytes, int]
    monotonic_ns: int
    by: str


def noted_ends(file: ProcessFile, properties: dict[str, object]) -> list[End]:
    """The notes in the properties of a process, each of which is a signal's number and a time; others are ignored."""
    found = []
    for key, value in properties.items():
        pid = key.removeprefix(_KEY)
        if pid == key or not pid.isdecimal() or not isinstance(value, list):
            continue
        if [type(each) for each in value] != [int] * 2:
            continue
        number, monotonic_ns = value
        try:
            name = signal.Signals(number).name
        except ValueError:
            continue
        by = f"ended by process {file.header.pid} ({name})"
        found.append(End((file.header.boot_id, int(pid)), monotonic_ns, by))
    return found


def end_of(file: ProcessFile, found: SweepDict, ends: Iterable[End]) -> End | None:
    """How a process ended that was ended by another; None for any other, and where work of a GPU may be missing.

    A process id may come back, so the signal must lie between what the process began and ended with.
    """
    header = file.header
    cuda = found["properties"].get("cuda")
    is_left = header.stop_ticks == 0 and header.end_reason == EndReason.NONE and file.limit_ticks == 0
    if not is_left or (isinstance(cuda, dict) and cuda.get("state") not in ("off", "waiting")):
        return None
    first_ns = file.clock.monotonic_ns(header.start_ticks)
    last_ns = file.clock.monotonic_ns(found["end_ticks"])
    for end in ends:
        is_its = end.process == (header.boot_id, header.pid)
        is_then = first_ns <= end.monotonic_ns <= _LATEST_NS and last_ns <= end.monotonic_ns + LONGEST_END_NS
        if is_its and is_then:
            return end
    return None
