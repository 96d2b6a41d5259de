"""This file finds which calls of ranks belong together: by communicator and order in it, never by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rlscope.analysis.ranks.swept import SweptCollective
from rlscope.analysis.sweep import ProcessSweep, TraceSweep

#: How the channels of waits begin that are communicators.
COMMUNICATOR = "group:"
PROPERTY = "communicator "


class CommunicatorKey(NamedTuple):
    """A communicator of the trace: two runs in one trace may have the same names."""

    job: str
    label: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RankCall:
    """A rank's part in a call of a communicator; times are in nanoseconds since 1970, on the run's time line.

    Attributes:
        process: The rank.
        function: The name of the call.
        moved_bytes: The bytes of the rank's own part.
        called_ns: When it made the call.
        waited_ns: Since when it waited for it.
        ended_ns: When it need not wait any more; None where it never waited.
    """

    process: str
    function: str
    moved_bytes: int
    called_ns: int
    waited_ns: int
    ended_ns: int | None

    def hidden_ns(self) -> int:
        """Return how long something else was done before the wait."""
        return self.waited_ns - self.called_ns if self.ended_ns is not None else 0

    def wait_ns(self, last_ns: int) -> int:
        """Return how long it waited before the last member's call, at `last_ns`."""
        return max(0, min(self.ended_ns, last_ns) - self.waited_ns) if self.ended_ns is not None else 0

    def transfer_ns(self, last_ns: int) -> int:
        """Return how long it waited after that; both sum to the wait."""
        return max(0, self.ended_ns - max(self.waited_ns, last_ns)) if self.ended_ns is not None else 0


@dataclass(frozen=True, slots=True)
class Collective:
    """A call of a communicator, with the parts of all its members that were recorded.

    Attributes:
        communicator: The communicator.
        parts: By rank, in the order of the processes.
        is_matched: Whether all members are there, each once, with the same call, or a send and its receive.
    """

    communicator: CommunicatorKey
    parts: tuple[RankCall, ...]
    is_matched: bool

    @property
    def last_ns(self) -> int:
        """Return when the last member made its call."""
        return max(part.called_ns for part in self.parts)


def collectives_of(swept: TraceSweep) -> list[Collective]:
    """Return the calls of all communicators, each with the parts of its members."""
    parts: dict[tuple[CommunicatorKey, int], list[RankCall]] = {}
    for process in swept.processes:
        known = communicators_of(process.found.properties)
        for call in process.found.collectives.rows():
            key = known.get(call.communicator, CommunicatorKey("", call.communicator, ()))
            parts.setdefault((key, call.sequence), []).append(_part(process, call))
    return [Collective(key, tuple(found), is_match(key, found)) for (key, _), found in parts.items()]


def operation_of(function: str) -> str:
    """Return what a call does: `all_reduce` for `torch.distributed.all_reduce`."""
    return function.rpartition(".")[2]


def communicators_of(properties: Mapping[str, object]) -> dict[str, CommunicatorKey]:
    """Return the communicators that a process has told of, by label; properties may be anything."""
    found: dict[str, CommunicatorKey] = {}
    for name, value in properties.items():
        if not name.startswith(PROPERTY) or not isinstance(value, dict):
            continue
        label, ranks, job = name.removeprefix(PROPERTY), value.get("ranks"), value.get("job")
        if isinstance(ranks, list) and all(type(rank) is int for rank in ranks) and isinstance(job, str):
            found[label] = CommunicatorKey(job, label, tuple(ranks))
    return found


def _part(process: ProcessSweep, call: SweptCollective) -> RankCall:
    def time_ns(ticks: int) -> int:
        return process.file.clock.realtime_ns(ticks)

    ended_ns = None if call.ended_ticks is None else time_ns(call.ended_ticks)
    times_ns = time_ns(call.called_ticks), time_ns(call.waited_ticks)
    return RankCall(process.name, call.function, call.moved_bytes, *times_ns, ended_ns)


def is_match(key: CommunicatorKey, parts: Sequence[RankCall]) -> bool:
    """Tell whether these are all members' parts of one call."""
    are_all = len(key.ranks) == len(parts) == len({part.process for part in parts})
    operations = {operation_of(part.function) for part in parts}
    return are_all and (len(operations) == 1 or operations == {"send", "recv"})
