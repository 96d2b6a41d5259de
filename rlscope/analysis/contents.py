"""What a trace holds, for `rlscope inspect`: processes, threads, counts, losses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rlscope.analysis.breakdown import NS_PER_S, records
from rlscope.analysis.sweep import ProcessSweep, TraceSweep, sweep_trace
from rlscope.text import encodable
from rlscope.trace.format import EndReason
from rlscope.trace.reader import Trace

EVENT_KINDS = ("operation", "phase", "python", "simulator", "backend", "cuda", "wait")
PROCESS_COLUMNS = (
    "process", "pid", "parent_pid", "role", "start_s", "end_s", "ended", "complete", *EVENT_KINDS, "events", "bytes",
    "dropped_records", "misnested_operations", "chunk_change_s",
)  # fmt: skip
THREAD_COLUMNS = ("process", "thread", "thread_id", "name", "events")
CROSSING_COLUMNS = ("process", "boundary", "count")
ENDED = {
    EndReason.NONE: "killed or still running",
    EndReason.STOPPED: "stopped",
    EndReason.EXIT: "_exit()",
    EndReason.FAILED: "the trace could not be written",
    EndReason.LIMIT: "a limit of `rlscope record`",
}


@dataclass(frozen=True)
class Contents:
    """What `rlscope inspect` shows.

    Attributes:
        complete: nothing is known to be missing.
        why: what is missing, one sentence each.
        manifest: as it is in the trace; empty if there is none.
        versions: of libraries, as the processes reported them.
        processes: one row per process: identity, times from the start of the first process, how recording ended, events
            begun by kind and in all, bytes of its file, losses, and seconds spent on changing chunks.
        threads: one row per thread: `thread` (its number in the process), the system's id and name, events begun.
        crossings: one row per `process` and `boundary`: how often it was entered, the most frequent first.
    """

    complete: bool
    why: tuple[str, ...]
    manifest: dict[str, Any]
    versions: dict[str, str]
    processes: pd.DataFrame
    threads: pd.DataFrame
    crossings: pd.DataFrame

    @property
    def events(self) -> int:
        """Events begun in all processes."""
        return int(self.processes["events"].sum())

    @property
    def bytes(self) -> int:
        """Size of all process files."""
        return int(self.processes["bytes"].sum())

    @property
    def bytes_per_event(self) -> float | None:
        """None for a trace without events."""
        return self.bytes / self.events if self.events else None

    def to_json_dict(self) -> dict[str, Any]:
        """The document of `inspect --json`."""
        return {
            "complete": self.complete,
            "why": list(self.why),
            "events": self.events,
            "events_by_kind": {kind: int(self.processes[kind].sum()) for kind in EVENT_KINDS},
            "bytes": self.bytes,
            "bytes_per_event": self.bytes_per_event,
            "dropped_records": int(self.processes["dropped_records"].sum()),
            "processes": records(self.processes),
            "threads": records(self.threads),
            "crossings": records(self.crossings),
            "versions": self.versions,
            "manifest": self.manifest,
        }


def read_contents(trace: Trace, recover: bool = False, on_process: Callable[[], None] = lambda: None) -> Contents:
    """Sweeps the trace.

    Args:
        trace: what `open_trace` returned.
        recover: step over damage, and say so in `why`, rather than raise.
        on_process: called after each process, from another thread.
    """
    swept = sweep_trace(trace, recover, on_process=on_process)
    crossings = [
        (process.name, boundary, count)
        for process in swept.processes
        for boundary, count in process.found["crossings"].items()
    ]
    table = pd.DataFrame(crossings, columns=list(CROSSING_COLUMNS))
    versions: dict[str, str] = {}
    for process in swept.processes:
        reported = process.found["properties"].get("versions")
        if isinstance(reported, dict):
            versions |= {str(library): str(version) for library, version in reported.items()}
    return Contents(
        complete=not swept.why,
        why=swept.why,
        manifest=trace.manifest,
        versions=versions,
        processes=_processes(swept),
        threads=_threads(swept),
        crossings=table.sort_values("count", ascending=False, kind="stable", ignore_index=True),
    )


def _processes(swept: TraceSweep) -> pd.DataFrame:
    origin_ns = min(process.start_ns for process in swept.processes)
    pids = {process.file.header.pid for process in swept.processes}
    rows = [_process_row(process, origin_ns, pids) for process in swept.processes]
    return pd.DataFrame(rows, columns=list(PROCESS_COLUMNS)).astype({"parent_pid": "Int64"})


def _process_row(process: ProcessSweep, origin_ns: int, pids: set[int]) -> tuple[Any, ...]:
    header, found, clock = process.file.header, process.found, process.file.clock
    counts = [found["events"][kind] for kind in EVENT_KINDS]
    try:
        ended = ENDED[EndReason(header.end_reason)]
    except ValueError:
        ended = f"unknown reason {header.end_reason}"
    start_ticks = header.start_ticks
    chunk_change_ns = clock.monotonic_ns(start_ticks + found["overhead_ticks"]) - clock.monotonic_ns(start_ticks)
    return (
        process.name, header.pid, header.parent_pid if header.parent_pid in pids else None, process.role,
        (process.start_ns - origin_ns) / NS_PER_S, (process.end_ns - origin_ns) / NS_PER_S, ended, found["complete"],
        *counts, sum(counts), process.file.file_bytes, found["dropped_records"], found["misnested_operations"],
        chunk_change_ns / NS_PER_S,
    )  # fmt: skip


def _threads(swept: TraceSweep) -> pd.DataFrame:
    rows = []
    for process in swept.processes:
        names = process.found["properties"].get("threads")
        known = names if isinstance(names, dict) else {}
        for stream in process.found["streams"]:
            name = known.get(str(stream["thread_id"]))
            shown = encodable(name) if isinstance(name, str) else None
            rows.append((process.name, stream["stream"], stream["thread_id"], shown, stream["events"]))
    return pd.DataFrame(rows, columns=list(THREAD_COLUMNS))
