"""This file reads how processes ended that did not end by themselves, from what others of the run noted of them."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rlscope.analysis.swept import Swept
from rlscope.trace.format import EndReason
from rlscope.trace.reader import ProcessFile

#: What the sweep says of a file that its process did not complete.
NOT_COMPLETED = "recording did not end in an orderly way: the process was killed or is still running"
#: What a process recorded later than this after the signal shows that it did not end by it.
LONGEST_END_NS = 1_000_000_000
#: A process sent another one a signal; or it waited for a child, and was told that a signal had ended it.
SENT, WAITED = "ended", "waited"
#: Ends its workers, and itself, when the process that has started it does not need them any more.
RAY = "Ray"
#: No machine runs for longer, so that times stay numbers of 64 bits.
_LATEST_NS = 1 << 58


@dataclass(frozen=True)
class End:
    """A note of how a process (by boot id and pid) ended.

    Attributes:
        process: Of which process.
        kind: SENT or WAITED.
        monotonic_ns: When, by CLOCK_MONOTONIC: no later than it ended, or no earlier.
        how: The signal's name, or RAY.
        noted_by: The pid of the process that noted it.
    """

    process: tuple[bytes, int]
    kind: str
    monotonic_ns: int
    how: str
    noted_by: int


def noted_ends(file: ProcessFile, properties: dict[str, object]) -> Iterator[End]:
    """Yield the notes in the properties of a process, each of which is how and when; others are ignored."""
    for key, value in properties.items():
        kind, _, pid = key.partition(" ")
        if kind not in (SENT, WAITED) or not pid.isdecimal() or not isinstance(value, list) or len(value) != 2:
            continue
        how, monotonic_ns = _how(value[0]), value[1]
        if how and type(monotonic_ns) is int:
            yield End((file.header.boot_id, int(pid)), kind, monotonic_ns, how, file.header.pid)


def _how(noted: object) -> str:
    """Return a signal's name, from its number, or what sends it in a process's place; empty for anything else."""
    if noted == RAY:
        return RAY
    return signal.Signals(noted).name if type(noted) is int and noted in set(signal.Signals) else ""


def end_of(file: ProcessFile, found: Swept, ends: Iterable[End], kind: str) -> End | None:
    """Return the note of this kind of how a process ended; None where there is none, or it ended by itself.

    A process id may come back, so the signal must lie between what the process began and ended with, and the end behind
    that.
    """
    header = file.header
    if header.stop_ticks != 0 or header.end_reason != EndReason.NONE or header.exit_code is not None:
        return None
    first_ns = file.clock.monotonic_ns(header.start_ticks)
    last_ns = file.clock.monotonic_ns(found.last_record_ticks)
    slack_ns = LONGEST_END_NS if kind == SENT else 0
    fitting = (
        end
        for end in ends
        if end.kind == kind
        and end.process == (header.boot_id, header.pid)
        and first_ns <= end.monotonic_ns <= _LATEST_NS
        and last_ns <= end.monotonic_ns + slack_ns
    )
    return min(fitting, key=lambda end: end.monotonic_ns, default=None)


def is_replaced(file: ProcessFile, files: Iterable[ProcessFile]) -> bool:
    """Tell whether a process has gone on as another program: it was seen to end where one of its number began."""
    header = file.header
    return header.stop_ticks == 0 and any(
        other.header.pid == header.pid
        and other.header.boot_id == header.boot_id
        and file.limit_ticks > header.start_ticks
        and file.limit_ticks == file.clock.ticks_at(other.header.first_pair.monotonic_ns)
        for other in files
    )


def is_known_to_lose_nothing(found: Swept) -> bool:
    """Tell whether a process that another one ended has all in its file, as one that used a GPU may not."""
    cuda = found.properties.get("cuda")
    return not isinstance(cuda, dict) or cuda.get("state") in ("off", "waiting")


def with_status(file: ProcessFile, found: Swept, ends: Iterable[End]) -> tuple[ProcessFile, Swept]:
    """Return a process with the signal that ended it, where one who waited for it was told."""
    waited = end_of(file, found, ends, WAITED) if file.exit_status is None else None
    if waited is None:
        return file, found
    why = tuple(f"{waited.how} ended it" if reason == NOT_COMPLETED else reason for reason in found.why)
    return replace(file, exit_status=-signal.Signals[waited.how]), replace(found, why=why)
