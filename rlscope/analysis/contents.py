"""This file lists what a trace holds, for `rlscope inspect`: processes, threads, counts, losses."""

import signal
from dataclasses import dataclass

from rlscope.analysis.devices.devices import device_fact
from rlscope.analysis.named_operations import unmet_operations
from rlscope.analysis.rows import Row, Rows
from rlscope.analysis.sweep import TraceSweep, sweep_trace
from rlscope.analysis.table_rows import MachineRow
from rlscope.analysis.tables.crossings import CrossingRow, crossing_rows
from rlscope.analysis.tables.processes import machine_rows, parents
from rlscope.model import CALL_CATEGORIES, NS_PER_S
from rlscope.text import encodable
from rlscope.trace.format import EndReason
from rlscope.trace.reader import ProcessFile, Trace

EVENT_KINDS = ("operation", "phase", *CALL_CATEGORIES, "kernel", "copy", "memset")
ENDED = {
    EndReason.NONE: "killed or still running",
    EndReason.STOPPED: "stopped",
    EndReason.EXIT: "_exit()",
    EndReason.FAILED: "the trace could not be written",
    EndReason.LIMIT: "a limit of `rlscope record`",
}


class ContentsProcess(Row):
    """A process: how recording it ended, what its file holds and what is missing, and what changing chunks took."""

    process: str
    pid: int
    parent_pid: int | None
    role: str
    start_s: float
    end_s: float
    ended: str
    exit_status: int | None
    complete: bool
    operation: int
    phase: int
    python: int
    simulator: int
    backend: int
    cuda: int
    wait: int
    native: int
    kernel: int
    copy: int
    memset: int
    events: int
    bytes: int
    dropped_records: int
    dropped_device_records: int
    misnested_operations: int
    unresolved_launches: int
    cut_stacks: int
    chunk_change_s: float
    machine: str
    parent: str | None


class Thread(Row):
    """A thread: its number in the process, the system's id and name, and how many events it began."""

    process: str
    thread: int
    thread_id: int
    name: str | None
    events: int


class CudaCall(Row):
    """This says how often a process called a function of CUDA, and whether that waits for the device."""

    process: str
    call: str
    waits: bool
    count: int


class ContentsDevice(Row):
    """A device that worked for a process, by CUDA's number in the process."""

    process: str
    device: int
    uuid: str | None
    name: str | None
    compute_capability: str | None
    kernels: int
    copies: int
    copied_bytes: int
    memsets: int


class CudaProcess(Row):
    """A process that initialised CUDA: how its device work was recorded, and for how long it was not."""

    process: str
    state: str | None
    error: str | None
    cupti_path: str | None
    driver_version: int | None
    cupti_version: int | None
    gap_s: float
    overhead_s: float  # CUPTI's and the driver's own work, and of threads that waited for devices


@dataclass(frozen=True)
class Contents:
    """This is what `rlscope inspect` shows.

    Attributes:
        complete: nothing is known to be missing.
        why: what is missing, one sentence each.
        unmet: operations that the user named and no process met, one sentence each.
        manifest: as it is in the trace; empty if there is none.
        versions: of libraries, as the processes reported them.
        machines: as in `rlscope.analysis.analysis.Analysis`.
        processes: by start.
        threads: by process.
        crossings: the most frequent first.
        cuda_calls: the most frequent first.
        devices: by process.
        cuda: how device work was recorded.
    """

    complete: bool
    why: tuple[str, ...]
    unmet: tuple[str, ...]
    manifest: dict[str, object]
    versions: dict[str, str]
    machines: Rows[MachineRow]
    processes: Rows[ContentsProcess]
    threads: Rows[Thread]
    crossings: Rows[CrossingRow]
    cuda_calls: Rows[CudaCall]
    devices: Rows[ContentsDevice]
    cuda: Rows[CudaProcess]

    @property
    def events(self) -> int:
        """Return events begun in all processes."""
        return sum(row.events for row in self.processes)

    @property
    def bytes(self) -> int:
        """Return size of all process files."""
        return sum(row.bytes for row in self.processes)

    @property
    def bytes_per_event(self) -> float | None:
        """Return None for a trace without events."""
        return self.bytes / self.events if self.events else None

    def events_by_kind(self) -> dict[str, int]:
        """Return how many events of each kind were begun in all processes."""
        return {kind: sum(getattr(row, kind) for row in self.processes) for kind in EVENT_KINDS}

    def to_json_dict(self) -> dict[str, object]:
        """Return the document of `inspect --json`."""
        return {
            "complete": self.complete,
            "why": list(self.why),
            "unmet_operations": list(self.unmet),
            "events": self.events,
            "events_by_kind": self.events_by_kind(),
            "bytes": self.bytes,
            "bytes_per_event": self.bytes_per_event,
            "dropped_records": sum(row.dropped_records for row in self.processes),
            "dropped_device_records": sum(row.dropped_device_records for row in self.processes),
            "machines": self.machines.records(),
            "processes": self.processes.records(),
            "threads": self.threads.records(),
            "crossings": self.crossings.records(),
            "cuda_calls": self.cuda_calls.records(),
            "devices": self.devices.records(),
            "cuda": self.cuda.records(),
            "versions": self.versions,
            "manifest": self.manifest,
        }


def read_contents(trace: Trace, recover: bool = False) -> Contents:
    """Sweep the trace and return what it holds.

    Args:
        trace: what `open_trace` returned.
        recover: step over damage, and say so in `why`, rather than raise.
    """
    swept = sweep_trace(trace, recover)
    cuda_calls = [
        CudaCall(process.name, row.name, row.waits, row.calls)
        for process in swept.processes
        for row in process.found.cuda_calls
    ]
    versions: dict[str, str] = {}
    for process in swept.processes:
        reported = process.found.properties.get("versions")
        if isinstance(reported, dict):
            versions |= {str(library): str(version) for library, version in reported.items()}
    return Contents(
        complete=not swept.why,
        why=swept.why,
        unmet=unmet_operations(swept.processes),
        manifest=trace.manifest,
        versions=versions,
        machines=machine_rows(swept.machines),
        processes=_processes(swept),
        threads=_threads(swept),
        crossings=crossing_rows(swept),
        cuda_calls=Rows(CudaCall, sorted(cuda_calls, key=lambda row: -row.count)),
        devices=_devices(swept),
        cuda=_cuda(swept),
    )


def _processes(swept: TraceSweep) -> Rows[ContentsProcess]:
    origin_ns = min(process.start_ns for process in swept.processes)
    pids = {(process.file.header.boot_id, process.file.header.pid) for process in swept.processes}
    machines = {machine.boot_id: machine.name for machine in swept.machines}
    rows = []
    for process, parent in zip(swept.processes, parents(swept.processes), strict=True):
        header, found = process.file.header, process.found
        rows.append(
            ContentsProcess(
                process=process.name,
                pid=header.pid,
                parent_pid=header.parent_pid if (header.boot_id, header.parent_pid) in pids else None,
                role=process.role,
                start_s=(process.start_ns - origin_ns) / NS_PER_S,
                end_s=(process.end_ns - origin_ns) / NS_PER_S,
                ended=process.ended_by or _ended(process.file),
                exit_status=process.file.exit_status,
                complete=found.complete,
                **{kind: found.events[kind] for kind in EVENT_KINDS},
                events=sum(found.events[kind] for kind in EVENT_KINDS),
                bytes=process.file.file_bytes,
                dropped_records=found.dropped_records,
                dropped_device_records=found.dropped_device_records,
                misnested_operations=found.misnested_operations,
                unresolved_launches=found.unresolved_launches,
                cut_stacks=header.cut_stacks,
                chunk_change_s=process.length_ns(found.chunk_change_ticks) / NS_PER_S,
                machine=machines[header.boot_id.hex()],
                parent=parent,
            )
        )
    return Rows(ContentsProcess, rows)


def _ended(file: ProcessFile) -> str:
    reason, status = file.header.end_reason, file.exit_status
    if reason == EndReason.NONE and status is not None and status < 0 and -status in set(signal.Signals):
        return f"killed by {signal.Signals(-status).name}"
    if reason == EndReason.NONE and file.limit_ticks:
        return "killed"
    known = ENDED[EndReason(reason)] if reason in set(EndReason) else f"unknown reason {reason}"
    return f"{known}, status {status}" if status else known


def _threads(swept: TraceSweep) -> Rows[Thread]:
    rows = []
    for process in swept.processes:
        names = process.found.properties.get("threads")
        known = names if isinstance(names, dict) else {}
        rows += [
            Thread(process.name, row.thread, row.thread_id, _text(known.get(str(row.thread_id))), row.events)
            for row in process.found.streams
        ]
    return Rows(Thread, rows)


def _devices(swept: TraceSweep) -> Rows[ContentsDevice]:
    return Rows(
        ContentsDevice,
        (
            ContentsDevice(
                process.name,
                row.device,
                device_fact(process, row.device, "uuid"),
                device_fact(process, row.device, "name"),
                device_fact(process, row.device, "compute_capability"),
                row.kernel_count,
                row.copy_count,
                row.copy_bytes,
                row.memset_count,
            )
            for process in swept.processes
            for row in process.found.devices
        ),
    )


def _cuda(swept: TraceSweep) -> Rows[CudaProcess]:
    rows = []
    for process in swept.processes:
        known = process.found.properties.get("cuda")
        if isinstance(known, dict):
            gap_s, overhead_s = (
                process.length_ns(sum(ticks.values())) / NS_PER_S
                for ticks in (process.found.gaps, process.found.cupti_work)
            )
            rows.append(
                CudaProcess(
                    process=process.name,
                    state=_text(known.get("state")),
                    error=_text(known.get("error")),
                    cupti_path=_text(known.get("cupti_path")),
                    driver_version=_version(known.get("driver_version")),
                    cupti_version=_version(known.get("cupti_version")),
                    gap_s=gap_s,
                    overhead_s=overhead_s,
                )
            )
    return Rows(CudaProcess, rows)


def _text(fact: object) -> str | None:
    """Return what the recorder wrote; properties may be anything."""
    return encodable(fact) if isinstance(fact, str) else None


def _version(fact: object) -> int | None:
    return fact if isinstance(fact, int) and 0 <= fact < 1 << 31 else None
