"""This file lists the devices of a trace, and the processes that used them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count

from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.analysis.swept import SweptDevice
from rlscope.text import encodable

#: Of a device; a larger one is no number of a driver.
_MOST_NUMBER = 1 << 16


@dataclass(frozen=True)
class User:
    """A process that used a device, and what the device did for it."""

    process: ProcessSweep
    found: SweptDevice


@dataclass(frozen=True)
class Device:
    """A device of a machine.

    Attributes:
        number: nvidia-smi's, where the recorder could tell it and no device of another machine has it; else the
            smallest one that is left, in the order in which processes used devices.
        uuid: None where the recorder could not ask for it; then CUDA's number tells the devices of a machine apart.
        name: the model.
        users: the processes that it worked for.
    """

    number: int
    uuid: str | None
    name: str | None
    users: list[User]


def devices_of(swept: TraceSweep) -> list[Device]:
    """Return all devices that worked for a process of the trace, by their numbers."""
    found: dict[tuple[bytes, str | int], Device] = {}
    numbers: dict[int, Device] = {}
    unnumbered = []
    for process in swept.processes:
        for used in process.found.devices:
            uuid, name = (device_fact(process, used.device, fact) for fact in ("uuid", "name"))
            key = process.file.header.boot_id, uuid or used.device
            if key not in found:
                number = _driver_number(process, used.device)
                found[key] = Device(-1 if number is None else number, uuid, name, [])
                if number is None or number in numbers:
                    unnumbered.append(found[key])
                else:
                    numbers[number] = found[key]
            found[key].users.append(User(process, used))
    for device in unnumbered:
        number = next(number for number in count() if number not in numbers)
        numbers[number] = replace(device, number=number)
    return [numbers[number] for number in sorted(numbers)]


def _driver_number(process: ProcessSweep, device: int) -> int | None:
    number = _device_facts(process, device).get("number")
    return number if type(number) is int and 0 <= number <= _MOST_NUMBER else None


def device_fact(process: ProcessSweep, device: int, fact: str) -> str | None:
    """Return what the recorder wrote about a device; properties may be anything."""
    known = _device_facts(process, device).get(fact)
    return encodable(known) if isinstance(known, str) else None


def _device_facts(process: ProcessSweep, device: int) -> Mapping[str, object]:
    known: object = process.found.properties.get("devices")
    facts = known.get(str(device)) if isinstance(known, dict) else None
    return facts if isinstance(facts, dict) else {}


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
