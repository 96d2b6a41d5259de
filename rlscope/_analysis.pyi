"""Types of the extension module that sweeps a process's trace file."""

from collections.abc import Sequence
from os import PathLike
from typing import TypedDict, overload

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
    evaluation_ticks: int  # from the first report to the last, in the phase `evaluation`

class _Device(TypedDict):
    device: int  # CUDA's number in the process
    # No instant counts twice in these, while the other ticks are sums of durations.
    busy_ticks: int
    kernel_count: int
    kernel_ticks: int
    copy_count: int
    copy_ticks: int
    copy_bytes: int
    memset_count: int
    memset_ticks: int
    memset_bytes: int

# The least, the expected and the most that something may be.
_Bounds = tuple[int, int, int]
# Of recording an event, in ticks: inside the recorded interval, and outside.
TickCost = tuple[tuple[float, float, float], tuple[float, float, float]]

class CorrectionDict(TypedDict):
    # (phase, stage, operation, category, resource, parts of a tick), 256 to the tick. What is removed is taken off the
    # breakdown; what was turned is of it, but stays as time of the devices alone. Rows may come several times.
    removed: list[tuple[str, str, str, str, str, _Bounds]]
    turned: list[tuple[str, str, str, str, str, _Bounds]]
    uncorrectable: _Bounds  # parts that no time was found for
    # Events by the most exact key that their cost may have: those with a cost, exact or of their kind; and the others.
    charged: dict[str, int]
    uncalibrated: dict[str, int]

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
    dropped_device_records: int
    unresolved_launches: int
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
    # (stage, operation, from, to, count): outside the phase `evaluation`, and in it.
    transitions: list[tuple[str, str, str, str, int]]
    evaluation_transitions: list[tuple[str, str, str, str, int]]
    # Begun events by kind: operation, phase, python, simulator, backend, cuda, wait; device work: kernel, copy, memset.
    events: dict[str, int]
    # How often each boundary was entered, by name; of a wait without the stream that stands behind the first space.
    crossings: dict[str, int]
    # (phase, start_ticks, end_ticks): its first begin and its last end, of each named phase, in order of start.
    phases: list[tuple[str, int, int]]
    # Operations of coroutines and generators, in alphabetical order: (operation, count, ticks in which they ran, ticks
    # for which they were open; of the latter the median, the 99th percentile and the maximum). The two percentiles are
    # rounded down to eight binary digits, so by less than 1 %.
    tasks: list[tuple[str, int, int, int, int, int, int]]
    # (phase, name of the boundary with its stream, count, ticks in operations, ticks in operations or between them in
    # the training loop, ticks). Entries on any thread; ticks are the process's, and sum to those of the breakdown's
    # category `wait`.
    waits: list[tuple[str, str, int, int, int, int]]
    # Time in no operation and no phase: (`before` the training loop, `in` it or `after` it, category, resource, ticks).
    outside: list[tuple[str, str, str, int]]
    # In which two or more threads were busy at once: in an operation of its own, and not waiting for another thread.
    beside_ticks: int
    threads_in_operations: int  # how many had any of their own
    # (name, whether it waits for the device, count)
    cuda_calls: list[tuple[str, bool, int]]
    gpu: list[_Device]
    # By launch: (device, stage, operation, busy ticks, kernels); the ticks of a device sum to its busy_ticks.
    gpu_operations: list[tuple[int, str, str, int, int]]
    # (device, stage, operation, name, count, ticks, bytes)
    device_work: list[tuple[int, str, str, str, int, int, int]]
    # Ticks on the host by name: CUPTI's and the driver's own work, what was not recorded.
    overhead: dict[str, int]
    gaps: dict[str, int]
    progress: _Progress | None
    correction: CorrectionDict | None  # only with costs
    properties: dict[str, object]
    bytes: int
    overhead_ticks: int
    streams: list[_Stream]

def sweep(
    path: str | PathLike[str],
    limit_ticks: int = 0,
    recover: bool = False,
    by_thread: bool = False,
    coincident: bool = False,
    costs: dict[str, TickCost] | None = None,
) -> SweepDict: ...

# What the dict of `sweep` holds under this name, known before the sweep.
def properties(path: str | PathLike[str], recover: bool = False) -> dict[str, object]: ...

# (path, start_ticks, end_ticks, clock, place in the result of each of the process's devices). The clock makes `to +
# (ticks - from) * numerator / denominator` of ticks, rounded, from the tuple (from, to, numerator, denominator).
_UnionProcess = tuple[str | PathLike[str], int, int, tuple[int, int, int, int], dict[int, int]]

# How long each device worked for any of the processes, in the time that the clocks make. With `bins`, (start, width,
# count) in that time, how long it did so within each bin; what lies outside the bins is left out.
@overload
def device_union(processes: Sequence[_UnionProcess], recover: bool = False, bins: None = None) -> list[int]: ...
@overload
def device_union(
    processes: Sequence[_UnionProcess], recover: bool = False, *, bins: tuple[int, int, int]
) -> list[list[int]]: ...

class DeviceIntervals(TypedDict):
    # One entry of each per piece of device work, in order of its start: of 8 bytes, in ticks.
    starts: bytes
    ends: bytes
    # Of 4 bytes: CUDA's number in the process, and the key in `labels`.
    devices: bytes
    launches: bytes
    work: bytes  # of 1 byte: rlscope.model.DeviceWork
    labels: dict[int, tuple[str, str]]  # (stage, operation) as in gpu_operations, by launch

# Clipped to the process's life; what takes no time there is left out.
def device_intervals(
    path: str | PathLike[str], start_ticks: int, end_ticks: int, recover: bool = False
) -> DeviceIntervals: ...
