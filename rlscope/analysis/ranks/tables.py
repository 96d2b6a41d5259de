"""This file makes the tables of what ranks did: their calls of communicators, their time, and whom they waited for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rlscope.analysis.devices.devices import Device
from rlscope.analysis.ranks.kernels import Kernel
from rlscope.analysis.ranks.matching import COMMUNICATOR, Collective, operation_of
from rlscope.analysis.ranks.rows import CollectiveRow, DeviceRankRow, RankRow
from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.table_rows import DependencyRow, ProcessRow, WaitRow
from rlscope.model import NS_PER_S


def collective_rows(collectives: Iterable[Collective]) -> Rows[CollectiveRow]:
    """Make one row per rank, communicator and kind of call."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for collective in collectives:
        last_ns, first_ns = collective.last_ns, min(part.called_ns for part in collective.parts)
        for part in collective.parts:
            key = (part.process, collective.communicator.label, operation_of(part.function))
            numbers = [1, 0, 0, part.moved_bytes, 0, 0, 0, 0]
            if collective.is_matched:
                times_ns = part.hidden_ns(), part.wait_ns(last_ns), part.transfer_ns(last_ns)
                is_unwaited = part.ended_ns is None
                numbers = [1, 1, int(is_unwaited), part.moved_bytes, part.called_ns - first_ns, *times_ns]
            found[key] = [a + b for a, b in zip(found.get(key, [0] * len(numbers)), numbers, strict=True)]
    return Rows(
        CollectiveRow,
        (
            CollectiveRow(*key, *numbers[:4], *(time_ns / NS_PER_S for time_ns in numbers[4:]))
            for key, numbers in sorted(found.items())
        ),
    )


def is_communication(wait: WaitRow) -> bool:
    """Tell whether a wait is for a call of a communicator."""
    return wait.stream.startswith(COMMUNICATOR)


def rank_rows(
    processes: Iterable[ProcessRow], waits: Sequence[WaitRow], collectives: Sequence[CollectiveRow]
) -> Rows[RankRow]:
    """Make one row per process that called a communicator.

    Its wait for communicators is the process's, as in the breakdown; calls that were matched say how much of it was for
    the last member. Of waits that two threads did at once, each instant counts once.
    """
    all_s = sums((row.process, row.wait_s) for row in waits)
    exposed_s = sums((row.process, row.wait_s) for row in waits if is_communication(row))
    wait_s = sums((row.process, row.wait_s) for row in collectives)
    transfer_s = sums((row.process, row.transfer_s) for row in collectives)
    rows = []
    for row in processes:
        name = row.process
        if name not in wait_s:
            continue
        whole_s, exposed = wait_s[name] + transfer_s[name], exposed_s.get(name, 0.0)
        for_last_s = exposed * wait_s[name] / whole_s if whole_s > 0 else 0.0
        others_s, compute_s = all_s.get(name, 0.0) - exposed, row.wall_s - all_s.get(name, 0.0)
        rows.append(RankRow(name, row.machine, row.wall_s, compute_s, for_last_s, exposed - for_last_s, others_s))
    return Rows(RankRow, rows)


def device_rank_rows(
    devices: Iterable[Device], kernels: Iterable[Collective], processes: Iterable[ProcessRow]
) -> Rows[DeviceRankRow]:
    """Make one row per rank and device that communicated for it."""
    wait_ns: dict[tuple[str, int], int] = {}
    for collective in kernels:
        for part in collective.parts if collective.is_matched else ():
            assert isinstance(part, Kernel)
            key = part.process, part.device
            wait_ns[key] = wait_ns.get(key, 0) + part.wait_ns(collective.last_ns)
    walls_s = {row.process: row.wall_s for row in processes}
    rows = []
    for device in devices:
        for user in device.users:
            if not user.found.communication_ticks:
                continue
            ticks = user.found.busy_ticks, user.found.exposed_ticks
            busy_s, exposed_s = (user.process.length_ns(each) / NS_PER_S for each in ticks)
            name = user.process.name
            wait_s = min(wait_ns.get((name, user.found.device), 0) / NS_PER_S, exposed_s)
            times_s = busy_s - exposed_s, wait_s, exposed_s - wait_s, max(0.0, walls_s[name] - busy_s)
            rows.append(DeviceRankRow(name, device.number, walls_s[name], *times_s))
    return Rows(DeviceRankRow, sorted(rows, key=lambda row: (row.process, row.device)))


def rank_dependencies(waits: Iterable[WaitRow], collectives: Iterable[Collective]) -> list[DependencyRow]:
    """Find which ranks waited for which: those that made their call last.

    Rank 0 waited 8 s in calls that rank 1 made last, of which 6 s were before rank 1 made them, and 2 s in others. It
    waited 6 of 10 s for rank 1.
    """
    found = _waited_for(collectives)
    edges: dict[tuple[str, str, str, str], list[float]] = {}
    for wait in waits:
        waited = found.get((wait.process, wait.function, wait.stream), _Waited())
        for other, (count, wait_ns) in waited.others.items():
            edge = edges.setdefault((wait.process, wait.phase, other, wait.stream), [0.0, 0.0])
            edge[0] += wait.count * count / waited.calls
            edge[1] += wait.wait_s * wait_ns / waited.whole_ns
    return [DependencyRow(*key, *numbers) for key, numbers in edges.items()]


@dataclass
class _Waited:
    """Counts what a rank waited for in calls of one kind: how many, how long, and for whom how often and how long."""

    calls: int = 0
    whole_ns: int = 0
    others: dict[str, tuple[int, int]] = field(default_factory=dict)


def _waited_for(collectives: Iterable[Collective]) -> dict[tuple[str, str, str], _Waited]:
    """Return what ranks waited for, by rank, function and communicator."""
    found: dict[tuple[str, str, str], _Waited] = {}
    for collective in collectives:
        last = max(collective.parts, key=lambda part: part.called_ns)
        for part in collective.parts if collective.is_matched else ():
            if part.ended_ns is None:
                continue
            waited = found.setdefault((part.process, part.function, collective.communicator.label), _Waited())
            wait_ns = part.wait_ns(last.called_ns)
            waited.calls += 1
            waited.whole_ns += wait_ns + part.transfer_ns(last.called_ns)
            if part is not last and wait_ns > 0:
                count, before_ns = waited.others.get(last.process, (0, 0))
                waited.others[last.process] = count + 1, before_ns + wait_ns
    return found
