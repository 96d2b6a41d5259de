"""This file finds what processes waited in, and for which others: those that sent what they received."""

from collections.abc import Iterable, Mapping

from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.table_rows import DependencyRow, WaitRow
from rlscope.analysis.tables.loop import Loops
from rlscope.analysis.tables.wait_kinds import FILE, kind_of_wait
from rlscope.model import NS_PER_S

#: How the names of functions begin that send: `posix.write`, `_socket.socket.sendall`.
SENDS = ("write", "send")
#: Channels that reach other machines, and how addresses begin that do not.
NETWORK = ("tcp:", "udp:")
LOOPBACK = ("127.", "[::1]", "[::ffff:127.")
#: What both ends of a channel have in common.
End = tuple[bytes, str]


def wait_rows(swept: TraceSweep, loops: Loops) -> Rows[WaitRow]:
    """Make one row per process, phase, waiting function and channel."""
    rows = []
    for process in swept.processes:
        found = process.found.waits
        lengths = process.file.clock.partition_ns(process.found.start_ticks, (row.ticks for row in found))
        for row, ns in zip(found, lengths, strict=True):
            function, _, channel = row.boundary.partition(" ")
            # Of the time in which the process waited, rounded with it: never more than that.
            in_operations_s, in_loop_s = (
                min(process.length_ns(ticks), ns) / NS_PER_S
                for ticks in (row.in_operations_ticks, loops.wait_ticks(process.name, row))
            )
            rows.append(
                WaitRow(
                    process.name,
                    row.phase,
                    function,
                    channel,
                    kind_of_wait(function, channel),
                    row.entries,
                    ns / NS_PER_S,
                    in_operations_s,
                    in_loop_s,
                )
            )
    return Rows(WaitRow, rows)


def dependency_rows(waits: Iterable[WaitRow], boots: Mapping[str, bytes]) -> Rows[DependencyRow]:
    """Find who waited for whom.

    A process that receives from a channel waits for the others that send to it, and one that sends to it, as to a pipe
    that is full, for those that receive from it. If there are several of these, `count` and `wait_s` are split by how
    often each of them sent or received.

    Args:
        waits: as from `wait_rows`.
        boots: of each process, the boot of the machine that it ran on.
    """
    on_channel = [(row, end_of(row.stream, boots[row.process])) for row in waits if row.stream and row.stream != FILE]
    sending = [(row, end) for row, end in on_channel if sends(row.function)]
    receiving = [(row, end) for row, end in on_channel if not sends(row.function)]
    edges = [*_edges(receiving, sending), *_edges(sending, receiving)]
    count = sums(((edge.process, edge.phase, edge.on, edge.stream), edge.count) for edge in edges)
    wait_s = sums(((edge.process, edge.phase, edge.on, edge.stream), edge.wait_s) for edge in edges)
    return Rows(DependencyRow, (DependencyRow(*key, count[key], wait_s[key]) for key in count))


def _edges(waits: Iterable[tuple[WaitRow, End]], others: Iterable[tuple[WaitRow, End]]) -> list[DependencyRow]:
    """Return for whom these waits were: for those at the other end of the same channels."""
    calls = sums(((end, row.process), row.count) for row, end in others)
    users: dict[End, dict[str, float]] = {}
    for (end, process), number in calls.items():
        if number > 0:
            users.setdefault(end, {})[process] = number
    waits = list(waits)
    count = sums(((row.process, row.phase, row.stream, end), row.count) for row, end in waits)
    wait_s = sums(((row.process, row.phase, row.stream, end), row.wait_s) for row, end in waits)
    edges = []
    for key in count:
        process, phase, channel, end = key
        ends = {on: number for on, number in users.get(end, {}).items() if on != process}
        whole = sum(ends.values())
        for on, number in ends.items():
            share = number / whole
            edges.append(DependencyRow(process, phase, on, channel, count[key] * share, wait_s[key] * share))
    return edges


def sends(function: str) -> bool:
    """Return whether it sends to a channel, by its name; else it receives."""
    return function.rpartition(".")[2].startswith(SENDS)


def end_of(channel: str, boot_id: bytes) -> End:
    """Return what both ends of a channel have in common: numbers of pipes and sockets count within a machine's boot."""
    addresses = channel.partition(":")[2].split("-")
    is_network = channel.startswith(NETWORK) and not any(address.startswith(LOOPBACK) for address in addresses)
    return (b"" if is_network else boot_id, channel)
