"""This file computes how long each device of a trace worked, for whom, and what ran on it."""

from collections.abc import Iterator, Mapping

from rlscope.analysis.devices.devices import BusyParts, Device, User
from rlscope.analysis.devices.rows import DeviceWorkRow, GpuOperationRow, GpuRow
from rlscope.analysis.rows import Rows, sums
from rlscope.model import NS_PER_S

#: A process, a device and an operation.
_OfOperation = tuple[str, int, str]


def gpu_rows(devices: list[Device], parts: Mapping[int, BusyParts], reported: Mapping[str, float]) -> Rows[GpuRow]:
    """Make one row per device.

    Args:
        devices: of the trace.
        parts: how long each worked in parts of the run.
        reported: the mean reported utilization by uuid.
    """
    return Rows(
        GpuRow,
        (
            GpuRow(
                device.number,
                device.uuid,
                sum(parts[device.number].busy_ns) / NS_PER_S,
                sum(parts[device.number].communication_ns) / NS_PER_S,
                sum(parts[device.number].exposed_ns) / NS_PER_S,
                sum(user.process.length_ns(user.found.kernel_ticks) for user in device.users) / NS_PER_S,
                reported.get(device.uuid or ""),
                device.name,
            )
            for device in devices
        ),
    )


def gpu_operation_rows(devices: list[Device]) -> Rows[GpuOperationRow]:
    """Sum device time by the operation that launched the work; of a process it sums to what the device worked."""
    busy_ns: list[tuple[_OfOperation, int]] = []
    exposed_ns: list[tuple[_OfOperation, int]] = []
    kernels: list[tuple[_OfOperation, int]] = []
    for device, user in _used(devices):
        process = user.process
        found = [row for row in process.found.device_operations if row.device == user.found.device]
        lengths = process.file.clock.partition_ns(process.found.start_ticks, (row.busy_ticks for row in found))
        for row, ns in zip(found, lengths, strict=True):
            key = process.name, device.number, row.operation
            busy_ns.append((key, ns))
            exposed_ns.append((key, process.length_ns(row.exposed_ticks)))
            kernels.append((key, row.kernels))
    exposed_ns_of, kernels_of = sums(exposed_ns), sums(kernels)
    return Rows(
        GpuOperationRow,
        (
            GpuOperationRow(*key, ns / NS_PER_S, exposed_ns_of[key] / NS_PER_S, round(kernels_of[key]))
            for key, ns in sums(busy_ns).items()
        ),
    )


def device_work_rows(devices: list[Device]) -> Rows[DeviceWorkRow]:
    """Make one row per process, device, launching stage and operation, and name of the work."""
    return Rows(
        DeviceWorkRow,
        (
            DeviceWorkRow(
                user.process.name,
                device.number,
                row.stage,
                row.operation,
                row.name,
                row.pieces,
                user.process.length_ns(row.ticks) / NS_PER_S,
                row.moved_bytes,
            )
            for device, user in _used(devices)
            for row in user.process.found.device_work
            if row.device == user.found.device
        ),
    )


def _used(devices: list[Device]) -> Iterator[tuple[Device, User]]:
    for device in devices:
        for user in device.users:
            yield device, user
