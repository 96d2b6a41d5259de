"""This file finds who had a device that several processes use, and how it passed from one to another."""

from collections.abc import Sequence
from dataclasses import dataclass

from rlscope._analysis import device_sharing
from rlscope.analysis.devices.clock import SharedClock, reading_together
from rlscope.analysis.devices.devices import Device
from rlscope.analysis.devices.rows import DeviceShareRow, DeviceSwitchRow
from rlscope.analysis.devices.swept import SweptSharing
from rlscope.analysis.rows import Rows
from rlscope.model import NS_PER_S

#: The row of all processes together.
ALL_PROCESSES = ""


@dataclass(frozen=True)
class SharedDevices:
    """The tables of devices that several processes use; both are empty if there is none."""

    shares: Rows[DeviceShareRow]
    switches: Rows[DeviceSwitchRow]


def shared_devices(clocks: Sequence[SharedClock], recover: bool) -> SharedDevices:
    """Return who had each device that two or more processes used.

    A trainer's kernels run from 0 s to 5 s and a rollout's from 4 s to 6 s; at 8 s the trainer goes on for a second.
    The trainer had the device alone for 5 s and the rollout for 1 s, and for 1 s they shared it. It passed from the
    rollout to the trainer once, and did nothing for 2 s. From the trainer to the rollout it did not pass: both worked
    at once.

    Raises:
        TraceError: a process file cannot be read.
    """
    shares: list[DeviceShareRow] = []
    switches: list[DeviceSwitchRow] = []
    for shared in clocks:
        if all(len(device.users) < 2 for device in shared.devices):
            continue
        with reading_together():
            found = device_sharing(shared.inputs(), recover)
        for device, sharing in zip(shared.devices, found, strict=True):
            if len(device.users) > 1:
                shares += _share_rows(shared, device, sharing)
                switches += _switch_rows(shared, device, sharing)
    return SharedDevices(Rows(DeviceShareRow, shares), Rows(DeviceSwitchRow, switches))


def _share_rows(shared: SharedClock, device: Device, found: SweptSharing) -> list[DeviceShareRow]:
    # Laid end to end and rounded together, so that they sum to the time that the device worked.
    *alone_ns, shared_ns = shared.lengths_ns([*(share.alone for share in found.processes), found.shared])
    names = [user.name for user in shared.users]
    of_device = {user.process.name for user in device.users}
    rows = []
    for name, share, own_ns in zip(names, found.processes, alone_ns, strict=True):
        if name in of_device:
            (with_others_ns,) = shared.lengths_ns([share.shared])
            rows.append(DeviceShareRow(device.number, name, own_ns / NS_PER_S, with_others_ns / NS_PER_S))
    return [*rows, DeviceShareRow(device.number, ALL_PROCESSES, sum(alone_ns) / NS_PER_S, shared_ns / NS_PER_S)]


def _switch_rows(shared: SharedClock, device: Device, found: SweptSharing) -> list[DeviceSwitchRow]:
    names = [user.name for user in shared.users]
    lengths_ns = shared.lengths_ns([switches.time for switches in found.switches])
    longest_ns = [shared.lengths_ns([switches.longest])[0] for switches in found.switches]
    return [
        DeviceSwitchRow(
            device.number,
            names[switches.before],
            names[switches.after],
            switches.times,
            length_ns / NS_PER_S,
            min(most_ns, length_ns) / NS_PER_S,
        )
        for switches, length_ns, most_ns in zip(found.switches, lengths_ns, longest_ns, strict=True)
    ]
