"""What a trace holds, for `rlscope inspect`: processes, threads, counts, losses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rlscope.analysis.named_operations import unmet_operations
from rlscope.analysis.records import records
from rlscope.analysis.sweep import NS_PER_S, ProcessSweep, TraceSweep, sweep_trace
from rlscope.analysis.tables.devices import device_fact
from rlscope.analysis.tables.machines import machines_table
from rlscope.analysis.tables.processes import parents
from rlscope.text import encodable
from rlscope.trace.format import EndReason
from rlscope.trace.reader import Trace

EVENT_KINDS = (
    "operation", "phase", "python", "simulator", "backend", "cuda", "wait", "kernel", "copy", "memset",
)  # fmt: skip
PROCESS_COLUMNS = (
    "process", "pid", "parent_pid", "role", "start_s", "end_s", "ended", "complete", *EVENT_KINDS, "events", "bytes",
    "dropped_records", "dropped_device_records", "misnested_operations", "unresolved_launches", "chunk_change_s",
)  # fmt: skip
THREAD_COLUMNS = ("process", "thread", "thread_id", "name", "events")
CROSSING_COLUMNS = ("process", "boundary", "count")
CUDA_CALL_COLUMNS = ("process", "call", "waits", "count")
DEVICE_COLUMNS = (
    "process", "device", "uuid", "name", "compute_capability", "kernels", "copies", "copied_bytes", "memsets",
)  # fmt: skip
CUDA_COLUMNS = (
    "process", "state", "error", "cupti_path", "driver_version", "cupti_version", "gap_s", "overhead_s",
)  # fmt: skip
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
        unmet: operations that the user named and no process met, one sentence each.
        manifest: as it is in the trace; empty if there is none.
        versions: of libraries, as the processes reported them.
        machines: as in `rlscope.analysis.analysis.Analysis`.
        processes: one row per process: identity, machine, times from the start of the first process, how recording
            ended, events begun by kind and in all, bytes of its file, losses, device work of unknown origin, and
            seconds spent on changing chunks.
        threads: one row per thread: `thread` (its number in the process), the system's id and name, events begun.
        crossings: one row per `process` and `boundary`: how often it was entered, the most frequent first.
        cuda_calls: the same of calls of the CUDA API, and whether they wait for the device.
        devices: one row per process and device that worked for it, by CUDA's number in the process.
        cuda: one row per process that initialised CUDA: how its device work was recorded, seconds in which it was not,
            seconds of CUPTI's and the driver's own work, and of threads that waited for devices.
    """

    complete: bool
    why: tuple[str, ...]
    unmet: tuple[str, ...]
    manifest: dict[str, Any]
    versions: dict[str, str]
    machines: pd.DataFrame
    processes: pd.DataFrame
    threads: pd.DataFrame
    crossings: pd.DataFrame
    cuda_calls: pd.DataFrame
    devices: pd.DataFrame
    cuda: pd.DataFrame

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
            "unmet_operations": list(self.unmet),
            "events": self.events,
            "events_by_kind": {kind: int(self.processes[kind].sum()) for kind in EVENT_KINDS},
            "bytes": self.bytes,
            "bytes_per_event": self.bytes_per_event,
            "dropped_records": int(self.processes["dropped_records"].sum()),
            "dropped_device_records": int(self.processes["dropped_device_records"].sum()),
            "machines": records(self.machines),
            "processes": records(self.processes),
            "threads": records(self.threads),
            "crossings": records(self.crossings),
            "cuda_calls": records(self.cuda_calls),
            "devices": records(self.devices),
            "cuda": records(self.cuda),
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
    crossings: list[tuple[Any, ...]] = [
        (process.name, boundary, count)
        for process in swept.processes
        for boundary, count in process.found["crossings"].items()
    ]
    cuda_calls = [(process.name, *row) for process in swept.processes for row in process.found["cuda_calls"]]
    versions: dict[str, str] = {}
    for process in swept.processes:
        reported = process.found["properties"].get("versions")
        if isinstance(reported, dict):
            versions |= {str(library): str(version) for library, version in reported.items()}
    return Contents(
        complete=not swept.why,
        why=swept.why,
        unmet=unmet_operations(swept.processes),
        manifest=trace.manifest,
        versions=versions,
        machines=machines_table(swept.machines),
        processes=_processes(swept),
        threads=_threads(swept),
        crossings=_most_frequent_first(crossings, CROSSING_COLUMNS),
        cuda_calls=_most_frequent_first(cuda_calls, CUDA_CALL_COLUMNS),
        devices=_devices(swept),
        cuda=_cuda(swept),
    )


def _most_frequent_first(rows: list[tuple[Any, ...]], columns: tuple[str, ...]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(columns))
    return table.sort_values("count", ascending=False, kind="stable", ignore_index=True)


def _processes(swept: TraceSweep) -> pd.DataFrame:
    origin_ns = min(process.start_ns for process in swept.processes)
    pids = {(process.file.header.boot_id, process.file.header.pid) for process in swept.processes}
    rows = [_process_row(process, origin_ns, pids) for process in swept.processes]
    table = pd.DataFrame(rows, columns=list(PROCESS_COLUMNS))
    names = {machine.boot_id: machine.name for machine in swept.machines}
    table["machine"] = [names[process.file.header.boot_id.hex()] for process in swept.processes]
    # Of objects, so that what is not known stays None.
    table["parent"] = pd.Series(parents(swept.processes), dtype=object)
    return table.astype({"parent_pid": "Int64"})


def _process_row(process: ProcessSweep, origin_ns: int, pids: set[tuple[bytes, int]]) -> tuple[Any, ...]:
    header, found = process.file.header, process.found
    counts = [found["events"][kind] for kind in EVENT_KINDS]
    try:
        ended = ENDED[EndReason(header.end_reason)]
    except ValueError:
        ended = f"unknown reason {header.end_reason}"
    parent_pid = header.parent_pid if (header.boot_id, header.parent_pid) in pids else None
    return (
        process.name, header.pid, parent_pid, process.role, (process.start_ns - origin_ns) / NS_PER_S,
        (process.end_ns - origin_ns) / NS_PER_S, process.ended_by or ended, found["complete"],
        *counts, sum(counts), process.file.file_bytes, found["dropped_records"], found["dropped_device_records"],
        found["misnested_operations"], found["unresolved_launches"],
        process.length_ns(found["overhead_ticks"]) / NS_PER_S,
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


def _devices(swept: TraceSweep) -> pd.DataFrame:
    rows = []
    for process in swept.processes:
        for row in process.found["gpu"]:
            facts = (device_fact(process, row["device"], fact) for fact in ("uuid", "name", "compute_capability"))
            counts = (row["kernel_count"], row["copy_count"], row["copy_bytes"], row["memset_count"])
            rows.append((process.name, row["device"], *facts, *counts))
    return pd.DataFrame(rows, columns=list(DEVICE_COLUMNS))


def _cuda(swept: TraceSweep) -> pd.DataFrame:
    rows = []
    for process in swept.processes:
        known = process.found["properties"].get("cuda")
        if not isinstance(known, dict):
            continue
        facts = (_text(known.get(fact)) for fact in ("state", "error", "cupti_path"))
        versions = (_version(known.get(fact)) for fact in ("driver_version", "cupti_version"))
        sums = (process.found["gaps"], process.found["overhead"])
        seconds = (process.length_ns(sum(ticks.values())) / NS_PER_S for ticks in sums)
        rows.append((process.name, *facts, *versions, *seconds))
    table = pd.DataFrame(rows, columns=list(CUDA_COLUMNS))
    return table.astype({"driver_version": "Int64", "cupti_version": "Int64"})


def _text(fact: object) -> str | None:
    """What the recorder wrote; properties may be anything."""
    return encodable(fact) if isinstance(fact, str) else None


def _version(fact: object) -> int | None:
    return fact if isinstance(fact, int) and 0 <= fact < 1 << 31 else None
