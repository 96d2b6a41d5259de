"""This file finds which kernels of ranks' devices belong together: by communicator and order in it, never by time.

A communicator's kernels run one after the other, in the order of its calls. So the seventh kernel of one rank belongs
to the seventh of each other rank, however far calls ran ahead of the devices.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rlscope._analysis import communication_intervals
from rlscope.analysis.ranks.matching import (
    Collective,
    CommunicatorKey,
    RankCall,
    communicators_of,
    is_match,
    operation_of,
)
from rlscope.analysis.sweep import ProcessSweep, TraceSweep

#: Kernels of which nobody knows the communicator.
UNKNOWN = CommunicatorKey("", "(unknown)", ())
#: What NCCL's kernels do, by how they are called.
_OPERATIONS = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
    "SendRecv": "send_recv",
}
#: What calls run such kernels, where it is not called as the kernel.
_RUN_BY = {
    "barrier": "all_reduce",
    "gather": "send_recv",
    "scatter": "send_recv",
    "all_to_all": "send_recv",
    "send": "send_recv",
    "recv": "send_recv",
}
#: A kernel that may do anything.
ANYTHING = "any"
_NAME = re.compile(r"nccl\w*?Kernel_([A-Za-z]+)")


@dataclass(frozen=True, slots=True)
class Kernel(RankCall):
    """A rank's kernel in a call of a communicator.

    It is made when it starts, and waited for until it ends. Only what is exposed is a wait.

    Attributes:
        device: CUDA's number of its device in the process.
        exposed_ns: When its device did nothing else, from when to when.
    """

    device: int = 0
    exposed_ns: list[tuple[int, int]] = field(default_factory=list)

    def hidden_ns(self) -> int:
        """Return for how much of it its device computed, or an earlier kernel had the time."""
        assert self.ended_ns is not None
        return self.ended_ns - self.called_ns - sum(end - start for start, end in self.exposed_ns)

    def wait_ns(self, last_ns: int) -> int:
        """Return how much was exposed before the last member's kernel started, at `last_ns`."""
        return sum(max(0, min(end, last_ns) - start) for start, end in self.exposed_ns)

    def transfer_ns(self, last_ns: int) -> int:
        """Return how much was exposed after that."""
        return sum(max(0, end - max(start, last_ns)) for start, end in self.exposed_ns)


def kernels_of(swept: TraceSweep, recover: bool) -> list[Collective]:
    """Return what communicators did on devices, each with the kernels of its members.

    Raises:
        TraceError: a process file cannot be read.
    """
    by_member: dict[CommunicatorKey, list[tuple[int, list[Kernel]]]] = {}
    for process in swept.processes:
        if not any(device.communication_ticks for device in process.found.devices):
            continue
        calls = _Calls(process)
        kernels: dict[CommunicatorKey, list[Kernel]] = {}
        for in_queue in _kernels_by_queue(process, recover):
            kernels.setdefault(calls.communicator_of(in_queue), []).extend(in_queue)
        for key, found in kernels.items():
            found.sort(key=lambda kernel: kernel.called_ns)
            by_member.setdefault(key, []).append((calls.first.get(key, 0), found))
    return [
        collective
        for key, members in by_member.items()
        for collective in (_matched(key, members) if key is not UNKNOWN else _apart(key, members))
    ]


def where_waited(calls: Iterable[Collective], kernels: Sequence[Collective]) -> list[Collective]:
    """Return the kernels of communicators that have any, and the calls of others.

    On a device the kernels wait for each other, and calls return before they run.
    """
    on_devices = {collective.communicator for collective in kernels}
    return [*(call for call in calls if call.communicator not in on_devices), *kernels]


class _Calls:
    """Remembers what a rank called: of which communicator, how often, and with which number first."""

    def __init__(self, process: ProcessSweep) -> None:
        known = communicators_of(process.found.properties)
        self._counts: dict[CommunicatorKey, Counter[str]] = {}
        self.first: dict[CommunicatorKey, int] = {}
        for call in process.found.collectives.rows():
            key = known.get(call.communicator)
            if key is None or len(key.ranks) < 2:  # alone a rank runs no kernel of NCCL
                continue
            kind = operation_of(call.function)
            self._counts.setdefault(key, Counter())[_RUN_BY.get(kind, kind)] += 1
            self.first[key] = min(self.first.get(key, call.sequence), call.sequence)

    def communicator_of(self, kernels: Iterable[Kernel]) -> CommunicatorKey:
        """Return whose the kernels of a queue are: the only one that calls all of it; of several, just as often."""
        kinds = Counter(kernel.function for kernel in kernels if kernel.function != ANYTHING)
        fitting = [key for key, counts in self._counts.items() if kinds.keys() <= counts.keys()]
        if len(fitting) > 1:
            fitting = [key for key in fitting if all(self._counts[key][kind] == kinds[kind] for kind in kinds)]
        return fitting[0] if len(fitting) == 1 else UNKNOWN


def _kernels_by_queue(process: ProcessSweep, recover: bool) -> Iterator[list[Kernel]]:
    """Yield NCCL's kernels of each queue, in order; copies between devices are of no communicator."""
    start_ticks, end_ticks = process.found.start_ticks, process.found.end_ticks
    found = communication_intervals(process.file.path, start_ticks, end_ticks, recover)
    kinds = {number: _kind(name) for number, name in found["names"].items()}
    queues: dict[int, list[Kernel]] = {}
    starts_ns, ends_ns = (_times_ns(process, found[name]) for name in ("starts", "ends"))
    columns = (array("I", found[name]) for name in ("devices", "queues", "name_ids"))
    pieces = []
    for start_ns, end_ns, device, queue, name_id in zip(starts_ns, ends_ns, *columns, strict=True):
        kernel = Kernel(process.name, kinds[name_id] or "", 0, start_ns, start_ns, end_ns, device)
        pieces.append(kernel)
        if kernel.function:
            queues.setdefault(queue, []).append(kernel)
    exposed_ns = zip(*(_times_ns(process, found[name]) for name in ("exposed_starts", "exposed_ends")), strict=True)
    for piece, interval_ns in zip(array("I", found["exposed_pieces"]), exposed_ns, strict=True):
        pieces[piece].exposed_ns.append(interval_ns)
    yield from queues.values()


def _times_ns(process: ProcessSweep, ticks: bytes) -> list[int]:
    return [process.file.clock.realtime_ns(each) for each in array("Q", ticks)]


def _kind(name: str) -> str | None:
    """Return what a kernel does, such as `all_reduce`; None of what is no kernel of NCCL."""
    found = _NAME.search(name)
    return _OPERATIONS.get(found[1], ANYTHING) if found else None


def _matched(key: CommunicatorKey, members: Sequence[tuple[int, list[Kernel]]]) -> Iterator[Collective]:
    """Yield the kernels with one number in all members, as long as they do the same; the others one by one.

    Members whose recordings begin with different calls have no numbers in common.
    """
    count = 0
    if len({first for first, _ in members}) == 1:
        for parts in zip(*(kernels for _, kernels in members), strict=False):
            if not is_match(key, parts):
                break
            count += 1
            yield Collective(key, parts, True)
    yield from _apart(key, [(first, kernels[count:]) for first, kernels in members])


def _apart(key: CommunicatorKey, members: Iterable[tuple[int, list[Kernel]]]) -> Iterator[Collective]:
    for _, kernels in members:
        for kernel in kernels:
            yield Collective(key, (kernel,), False)
