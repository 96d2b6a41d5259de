"""What processes waited in, and which other processes they waited for: those that sent what they received."""

from collections.abc import Mapping

import pandas as pd

from rlscope.analysis.sweep import NS_PER_S, TraceSweep

WAIT_COLUMNS = ("process", "phase", "function", "stream", "count", "wait_s", "in_operations_s", "in_loop_s")
DEPENDENCY_COLUMNS = ("process", "phase", "on", "stream", "count", "wait_s")
_EDGE = ["process", "phase", "on", "stream"]
#: How the names of functions begin that send: `posix.write`, `_socket.socket.sendall`.
SENDS = ("write", "send")
#: Streams that reach other machines, and how addresses begin that do not.
NETWORK = ("tcp:", "udp:")
LOOPBACK = ("127.", "[::1]", "[::ffff:127.")


def waits_table(swept: TraceSweep) -> pd.DataFrame:
    """One row per process, phase, waiting function and stream, with the columns of `WAIT_COLUMNS`."""
    rows = []
    for process in swept.processes:
        found = process.found["waits"]
        lengths = process.file.clock.partition_ns(process.found["start_ticks"], (row[-1] for row in found))
        for (phase, name, count, *parts, _), ns in zip(found, lengths, strict=True):
            function, _, stream = name.partition(" ")
            # Of the time in which the process waited, rounded with it: never more than that.
            parts_s = (min(process.length_ns(ticks), ns) / NS_PER_S for ticks in parts)
            rows.append((process.name, phase, function, stream, count, ns / NS_PER_S, *parts_s))
    return pd.DataFrame(rows, columns=list(WAIT_COLUMNS)).astype(
        {"count": int} | dict.fromkeys(WAIT_COLUMNS[5:], float)
    )


def dependencies_table(waits: pd.DataFrame, boots: Mapping[str, bytes]) -> pd.DataFrame:
    """Who waited for whom, with the columns of `DEPENDENCY_COLUMNS`.

    A process that receives from a stream waits for the others that send to it, and one that sends to it, as to a pipe
    that is full, for those that receive from it. If there are several of these, `count` and `wait_s` are split by how
    often each of them sent or received.

    Args:
        waits: as from `waits_table`.
        boots: of each process, the boot of the machine that it ran on.
    """
    on_stream = waits[waits["stream"] != ""]
    users = zip(on_stream["process"], on_stream["stream"], strict=True)
    ends = on_stream.assign(end=[_end(stream, boots[process]) for process, stream in users])
    is_send = ends["function"].map(sends).astype(bool)
    edges = pd.concat([_edges(ends[~is_send], ends[is_send]), _edges(ends[is_send], ends[~is_send])])
    return edges.groupby(_EDGE, sort=False, as_index=False)[["count", "wait_s"]].sum()[list(DEPENDENCY_COLUMNS)]


def _edges(waits: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """For whom these waits were: for those at the other end of the same streams."""
    waited = waits.groupby(["process", "phase", "stream", "end"], sort=False, as_index=False)
    calls = others.groupby(["process", "end"], sort=False, as_index=False)["count"].sum()
    calls = calls[calls["count"] > 0].rename(columns={"process": "on", "count": "calls"})
    edges = waited[["count", "wait_s"]].sum().merge(calls, on="end")
    edges = edges[edges["process"] != edges["on"]]
    shares = edges["calls"] / edges.groupby(["process", "end", "phase"])["calls"].transform("sum")
    return edges.assign(count=edges["count"] * shares, wait_s=edges["wait_s"] * shares)


def sends(function: str) -> bool:
    """Whether it sends to a stream, by its name; else it receives."""
    return function.rpartition(".")[2].startswith(SENDS)


def _end(stream: str, boot_id: bytes) -> tuple[bytes, str]:
    """What both ends of a stream have in common. Numbers of pipes and sockets count within a machine's boot."""
    addresses = stream.partition(":")[2].split("-")
    is_network = stream.startswith(NETWORK) and not any(address.startswith(LOOPBACK) for address in addresses)
    return (b"" if is_network else boot_id, stream)
