"""The tables of devices: how long each worked, for whom, and what ran on it."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from rlscope.analysis.sweep import NS_PER_S, ProcessSweep, TraceSweep
from rlscope.analysis.tables.device_timeline import BusyParts
from rlscope.analysis.tables.devices import Device
from rlscope.analysis.utilization import Utilization, mean_utilization

GPU_COLUMNS = ("device", "uuid", "busy_s", "kernel_s", "reported_utilization")
GPU_OPERATION_COLUMNS = ("process", "device", "operation", "busy_s", "kernels")
DEVICE_WORK_COLUMNS = ("process", "device", "stage", "operation", "name", "count", "seconds", "bytes")


def gpu_table(
    swept: TraceSweep, devices: list[Device], parts: Mapping[int, BusyParts], utilization: Utilization
) -> pd.DataFrame:
    """One row per device; the columns of `GPU_COLUMNS` and the device's `name`."""
    reported = mean_utilization(utilization.samples, *_run_ns(swept)) if devices else {}
    rows = [
        (
            device.number,
            device.uuid,
            sum(parts[device.number].busy_ns) / NS_PER_S,
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


def _used(devices: list[Device], table: str) -> Iterator[tuple[Device, ProcessSweep, list[tuple[Any, ...]]]]:
    """Each device with each of its users, and its rows in one of the user's tables, without the device."""
    for device in devices:
        for user in device.users:
            rows: Any = user.process.found[table]  # type: ignore[literal-required]
            yield device, user.process, [row[1:] for row in rows if row[0] == user.found["device"]]


def _run_ns(swept: TraceSweep) -> tuple[int, int]:
    """CLOCK_MONOTONIC of the machine that ran the command, from the first process's start to the last one's end."""
    boot_id = swept.main.file.header.boot_id
    here = [process for process in swept.processes if process.file.header.boot_id == boot_id]
    starts = [process.file.clock.monotonic_ns(process.found["start_ticks"]) for process in here]
    ends = [process.file.clock.monotonic_ns(process.found["end_ticks"]) for process in here]
    return min(starts), max(ends)
