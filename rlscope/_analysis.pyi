"""Types of the extension module that sweeps a process's trace file."""

from os import PathLike
from typing import TypedDict

class _Stream(TypedDict):
    stream: int
    thread_id: int
    events: int

class _Progress(TypedDict):
    iterations: int
    first_ticks: int
    first_timesteps: int
    last_ticks: int
    last_timesteps: int
    total_timesteps: int
    baseline_timesteps: int | None

class SweepDict(TypedDict, total=False):
    # The file header, as in docs/trace-format.md.
    clock: int
    tick_shift: int
    pid: int
    parent_pid: int
    stop_ticks: int
    end_reason: int
    stop_errno: int
    exit_status: int
    dropped_records: int
    misnested_operations: int
    boot_id: bytes
    first_pair: tuple[int, int, int]
    last_pair: tuple[int, int, int]
    # What was analyzed: the process's wall time goes from start_ticks to end_ticks.
    start_ticks: int
    end_ticks: int
    complete: bool
    why: list[str]
    # (phase, stage, operation, category, resource, ticks); the ticks sum to end_ticks - start_ticks.
    breakdown: list[tuple[str, str, str, str, str, int]]
    # Only by_thread: (thread, phase, stage, operation, category, resource, ticks).
    threads: list[tuple[int, str, str, str, str, str, int]]
    # (stage, operation, from, to, count)
    transitions: list[tuple[str, str, str, str, int]]
    # Begun events by kind: operation, phase, python, simulator, backend, cuda, wait.
    events: dict[str, int]
    # How often each boundary was entered, by name.
    crossings: dict[str, int]
    progress: _Progress | None
    properties: dict[str, object]
    bytes: int
    overhead_ticks: int
    streams: list[_Stream]

def sweep(
    path: str | PathLike[str], limit_ticks: int = 0, recover: bool = False, by_thread: bool = False
) -> SweepDict: ...
