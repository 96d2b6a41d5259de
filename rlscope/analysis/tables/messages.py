"""The table of messages: what processes wrote to pipes and sockets and read from them, and with whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import TraceSweep
from rlscope.analysis.tables.dependencies import End, end_of, sends


class MessageRow(Row):
    """This is what a process wrote to another one, or read of what that wrote.

    Attributes:
        process: The process.
        stage: The stage in which it did.
        operation: The operation, or that of no operation.
        is_sent: Whether it wrote; else it read.
        peer: The process at the other end; empty if it is none that was recorded. Of several, each has the share that
            it has of the bytes at the other end.
        count: How often a function wrote or read.
        bytes: How many bytes.
    """

    process: str
    stage: str
    operation: str
    is_sent: bool
    peer: str
    count: int
    bytes: int


def message_rows(swept: TraceSweep) -> Rows[MessageRow]:
    """Make one row per process, operation, direction and peer, those with most bytes first."""
    found = [
        ((process.name, row.stage, row.operation, sends(function)), end_of(channel, process.file.header.boot_id), row)
        for process in swept.processes
        for row in process.found.messages
        for function, _, channel in (row.boundary.partition(" "),)
    ]
    users: dict[tuple[End, bool], Counter[str]] = {}
    for (process, *_, is_sent), end, row in found:
        users.setdefault((end, is_sent), Counter())[process] += row.message_bytes
    counts: Counter[tuple[str, str, str, bool, str]] = Counter()
    sizes: Counter[tuple[str, str, str, bool, str]] = Counter()
    for key, end, moved in found:
        others = {name: size for name, size in users.get((end, not key[3]), {}).items() if name != key[0]}
        for peer, count, size in zip(
            others or [""], _shared(moved.messages, others), _shared(moved.message_bytes, others), strict=True
        ):
            place = (*key, peer)
            counts[place] += count
            sizes[place] += size
    return Rows(MessageRow, (MessageRow(*key, counts[key], size) for key, size in sizes.most_common()))


def _shared(whole: int, weights: Mapping[str, int]) -> Iterator[int]:
    """Yield whole numbers in the ratio of weights, which sum to the whole; without any the whole."""
    all_weights, passed, given = sum(weights.values()), 0, 0
    for weight in weights.values() or [all_weights]:
        passed += weight
        up_to = whole * passed // all_weights if all_weights else whole
        yield up_to - given
        given = up_to
