"""The devices of a trace: how long each worked, for whom, and what ran on it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rlscope._analysis import device_union
from rlscope.analysis.sweep import NS_PER_S, ProcessSweep, TraceSweep
from rlscope.analysis.utilization import mean_utilization
from rlscope.errors import TraceError
from rlscope.text import encodable
from rlscope.trace.clock import Clock, clock_id

GPU_COLUMNS = ("device", "uuid", "busy_s", "kernel_s", "reported_utilization")
GPU_OPERATION_COLUMNS = ("process", "device", "operation", "busy_s", "kernels")
DEVICE_WORK_COLUMNS = ("process", "device", "stage", "operation", "name", "count", "seconds", "bytes")
NO_CONVERSION = (0, 0, 1, 1)


@dataclass(frozen=True)
class User:
    """A process that used a device, and what the device did for it."""

    process: ProcessSweep
    found: Any  # the device's row of the sweep


@dataclass(frozen=True)
class Device:
    """A device of a machine.

    Attributes:
        number: counts over the whole trace, in the order in which processes used devices.
        uuid: None where the recorder could not ask for it; then CUDA's number tells the devices of a machine apart.
        name: the model.
        users: the processes that it worked for.
    """

    number: int
    uuid: str | None
    name: str | None
    users: list[User]


def devices_of(swept: TraceSweep) -> list[Device]:
    """All devices that worked for a process of the trace."""
    devices: dict[tuple[bytes, str | int], Device] = {}
    for process in swept.processes:
        for found in process.found["gpu"]:
            uuid, name = (device_fact(process, found["device"], fact) for fact in ("uuid", "name"))
            key = process.file.header.boot_id, uuid or found["device"]
            device = devices.setdefault(key, Device(len(devices), uuid, name, []))
            device.users.append(User(process, found))
    return list(devices.values())


def gpu_table(swept: TraceSweep, devices: list[Device], recover: bool) -> pd.DataFrame:
    """One row per device; the columns of `GPU_COLUMNS` and the device's `name`."""
    reported = mean_utilization(swept.trace.directory, *_run_ns(swept)) if devices else {}
    busy_ns = _busy_ns(devices, recover)
    rows = [
        (
            device.number,
            device.uuid,
            busy_ns[device.number] / NS_PER_S,
            sum(user.process.length_ns(user.found["kernel_ticks"]) for user in device.users) / NS_PER_S,
            reported.get(device.uuid or "", float("nan")),
            device.name,
        )
        for device in devices
    ]
    # Of objects, so that what is not known stays None.
    table = pd.DataFrame(rows, columns=[*GPU_COLUMNS, "name"], dtype=object)
    return table.astype({"device": int, "busy_s": float, "kernel_s": float, "reported_utilization": float})


def gpu_operations_table(devices: list[Device]) -> pd.DataFrame:
    """Device time per operation that launched the work; of a device and process it sums to what the device worked."""
    rows = []
    for device, process, found in _used(devices, "gpu_operations"):
        lengths = process.file.clock.partition_ns(process.found["start_ticks"], (ticks for *_, ticks, _ in found))
        for (_, operation, _, kernels), ns in zip(found, lengths, strict=True):
            rows.append((process.name, device.number, operation, ns, kernels))
    table = pd.DataFrame(rows, columns=list(GPU_OPERATION_COLUMNS))
    keys = ["process", "device", "operation"]
    table = table.groupby(keys, sort=False, as_index=False)[["busy_s", "kernels"]].sum()
    return table.assign(busy_s=table["busy_s"].astype(float) / NS_PER_S)


def device_work_table(devices: list[Device]) -> pd.DataFrame:
    """What ran on each device, by the stage and operation that launched it."""
    rows = [
        (process.name, device.number, *labels, count, process.length_ns(ticks) / NS_PER_S, moved_bytes)
        for device, process, found in _used(devices, "device_work")
        for *labels, count, ticks, moved_bytes in found
    ]
    return pd.DataFrame(rows, columns=list(DEVICE_WORK_COLUMNS))


def device_fact(process: ProcessSweep, device: int, fact: str) -> str | None:
    """What the recorder wrote about a device; properties may be anything."""
    known: Any = process.found["properties"].get("devices")
    for key in (str(device), fact):
        known = known.get(key) if isinstance(known, dict) else None
    return encodable(known) if isinstance(known, str) else None


def _used(devices: list[Device], table: str) -> Iterator[tuple[Device, ProcessSweep, list[tuple[Any, ...]]]]:
    """Each device with each of its users, and its rows in one of the user's tables, without the device."""
    for device in devices:
        for user in device.users:
            rows: Any = user.process.found[table]  # type: ignore[literal-required]
            yield device, user.process, [row[1:] for row in rows if row[0] == user.found["device"]]


def _run_ns(swept: TraceSweep) -> tuple[int, int]:
    """CLOCK_MONOTONIC of the machine that ran the command, from the first process's start to the last one's end."""
    main = next((process for process in swept.processes if process.file.is_main), swept.processes[0])
    boot_id = main.file.header.boot_id
    here = [process for process in swept.processes if process.file.header.boot_id == boot_id]
    starts = [process.file.clock.monotonic_ns(process.found["start_ticks"]) for process in here]
    ends = [process.file.clock.monotonic_ns(process.found["end_ticks"]) for process in here]
    return min(starts), max(ends)


def _busy_ns(devices: list[Device], recover: bool) -> dict[int, int]:
    """How long each device worked for any of its users, by its number."""
    busy_ns = {}
    shared = []
    for device in devices:
        if len(device.users) == 1:
            user = device.users[0]
            busy_ns[device.number] = user.process.length_ns(user.found["busy_ticks"])
        else:
            shared.append(device)
    by_boot: dict[bytes, list[Device]] = {}
    for device in shared:
        by_boot.setdefault(device.users[0].process.file.header.boot_id, []).append(device)
    for of_boot in by_boot.values():
        busy_ns |= _union_ns(of_boot, recover)
    return busy_ns


def _union_ns(devices: list[Device], recover: bool) -> dict[int, int]:
    """The same of devices of one machine that several processes used: the files' device work is read together."""
    places: dict[int, dict[int, int]] = {}
    processes: dict[int, ProcessSweep] = {}
    for place, device in enumerate(devices):
        for user in device.users:
            processes[id(user.process)] = user.process
            places.setdefault(id(user.process), {})[user.found["device"]] = place
    first = next(iter(processes.values()))
    # Ticks are exact, and all processes of a boot usually have the same.
    is_one_clock = len({clock_id(process.file.header) for process in processes.values()}) == 1
    arguments = [
        (
            process.file.path,
            process.found["start_ticks"],
            process.found["end_ticks"],
            NO_CONVERSION if is_one_clock else _conversion(process.file.clock),
            places[key],
        )
        for key, process in processes.items()
    ]
    try:
        busy = device_union(arguments, recover)
    except OSError as error:
        raise TraceError(f"process files could not be read together: {error}; make them readable") from error
    if is_one_clock:
        busy = [first.length_ns(ticks) for ticks in busy]
    return {device.number: time for device, time in zip(devices, busy, strict=True)}


def _conversion(clock: Clock) -> tuple[int, int, int, int]:
    """As `device_union` wants it: to CLOCK_MONOTONIC."""
    return clock.reference_ticks, clock.reference_ns, clock.ns_per_denominator, clock.denominator
