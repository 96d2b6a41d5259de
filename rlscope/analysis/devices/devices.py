"""This file lists the devices of a trace, and the processes that used them."""

from dataclasses import dataclass

from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.swept import SweptDevice
from rlscope.text import encodable


@dataclass(frozen=True)
class User:
    """A process that used a device, and what the device did for it."""

    process: ProcessSweep
    found: SweptDevice


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
    """Return all devices that worked for a process of the trace."""
    devices: dict[tuple[bytes, str | int], Device] = {}
    for process in swept.processes:
        for found in process.found.devices:
            uuid, name = (device_fact(process, found.device, fact) for fact in ("uuid", "name"))
            key = process.file.header.boot_id, uuid or found.device
            device = devices.setdefault(key, Device(len(devices), uuid, name, []))
            device.users.append(User(process, found))
    return list(devices.values())


def device_fact(process: ProcessSweep, device: int, fact: str) -> str | None:
    """Return what the recorder wrote about a device; properties may be anything."""
    known: object = process.found.properties.get("devices")
    for key in (str(device), fact):
        known = known.get(key) if isinstance(known, dict) else None
    return encodable(known) if isinstance(known, str) else None


@dataclass(frozen=True)
class BusyParts:
    """This says how long a device worked for any process in each of the equal parts of the run.

    Attributes:
        borders_ns: where the parts begin and where the last one ends, in nanoseconds since 1970.
        busy_ns: of each part. They sum to all time in which the device worked.
        communication_ns: of that, how long it communicated with other devices.
        exposed_ns: of that, how long it did nothing else.
    """

    borders_ns: list[int]
    busy_ns: list[int]
    communication_ns: list[int]
    exposed_ns: list[int]
