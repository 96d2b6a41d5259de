"""This file finds why each device of a trace did nothing in the training loop."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from rlscope._analysis import device_idle
from rlscope.analysis.devices.causes import IdleCause, idle_cause
from rlscope.analysis.devices.clock import SharedClock, reading_together
from rlscope.analysis.devices.devices import Device
from rlscope.analysis.devices.rows import DeviceIdleRow
from rlscope.analysis.devices.swept import SweptIdle
from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.sweep import ProcessSweep
from rlscope.analysis.swept import Swept
from rlscope.analysis.table_rows import DependencyRow
from rlscope.model import NS_PER_S

#: Of a process, by the sweep.
DEVICES_TOLD_APART = 64
#: A device that did nothing, why, and what was done meanwhile.
_Key = tuple[int, str, str, str, str]


class _Idle(NamedTuple):
    """Idle time of a device, by the process that speaks for it, "" if none does."""

    process: str
    row: SweptIdle
    ns: int


def device_idle_rows(
    clocks: Sequence[SharedClock], dependencies: Iterable[DependencyRow], evaluating: AbstractSet[str], recover: bool
) -> Rows[DeviceIdleRow]:
    """Make one row per device, process that speaks for it, cause, stage and operation.

    They sum to the time in which the device worked for no process, from the begin of the training loop to its end: of
    several processes that use the device, the first begin and the last end. At each instant one of these processes
    speaks: one in an operation before one in none, then one that works before one that waits, then the first.

    Args:
        clocks: Of the devices.
        dependencies: Which channel of a process leads to another one.
        evaluating: The processes that evaluate beside their training.
        recover: Step over damage.

    Raises:
        TraceError: a process file cannot be read.
    """
    linked = {(row.process, row.stream) for row in dependencies}
    rows: list[DeviceIdleRow] = []
    for shared in clocks:
        together = [device for device in shared.devices if not _is_told_by_its_sweep(device)]
        found = _swept_together(shared, together, recover) if together else {}
        for device in shared.devices:
            rows += _rows(device, found[device.number] if device in together else _own(device), linked, evaluating)
    return Rows(DeviceIdleRow, rows)


def _is_told_by_its_sweep(device: Device) -> bool:
    """Tell whether the only sweep of the process that uses the device has found what it did meanwhile.

    That sweep knows neither what other processes do, nor before an iteration is complete where its tail began.
    """
    users = [user.process.found for user in device.users]
    are_told_apart = len(users[0].devices) == 1 or all(each.device < DEVICES_TOLD_APART for each in users[0].devices)
    return len(users) == 1 and are_told_apart and not _tails(users[0])


def _own(device: Device) -> list[_Idle]:
    """Return what the only process that uses the device did."""
    (user,) = device.users
    found = user.process.found
    idle = [row.idle for row in found.idle if not row.working >> user.found.device % DEVICES_TOLD_APART & 1]
    lengths_ns = user.process.file.clock.partition_ns(found.start_ticks, [row.time for row in idle])
    return [_Idle(user.process.name, row, ns) for row, ns in zip(idle, lengths_ns, strict=True)]


def _swept_together(shared: SharedClock, devices: list[Device], recover: bool) -> dict[int, list[_Idle]]:
    """Return what processes did that are swept again, side by side, by the number of the device."""
    using = {id(user.process) for device in devices for user in device.users}
    shared = replace(shared, devices=devices, users=[user for user in shared.users if id(user) in using])
    spans = [_span(shared, device) for device in devices]
    users = [
        (given, *_life(user), _tails(user.found)) for given, user in zip(shared.inputs(), shared.users, strict=True)
    ]
    with reading_together():
        rows = device_idle(users, spans, recover)
    found = {}
    for place, device in enumerate(devices):
        of_device = [row for row in rows if row.place == place]
        lengths_ns = shared.lengths_ns([row.idle.time for row in of_device])
        found[device.number] = [
            _Idle("" if row.user is None else shared.users[row.user].name, row.idle, ns)
            for row, ns in zip(of_device, lengths_ns, strict=True)
        ]
    return found


def _rows(
    device: Device, found: list[_Idle], linked: AbstractSet[tuple[str, str]], evaluating: AbstractSet[str]
) -> list[DeviceIdleRow]:
    launching = {
        (user.process.name, row.stage, row.operation)
        for user in device.users
        for row in user.process.found.device_operations
        if row.device == user.found.device
    }
    parts: list[tuple[_Key, int]] = []
    for process, row, ns in found:
        gives_work = (process, row.stage, row.operation) in launching
        waits_for_process = (process, row.wait.partition(" ")[2]) in linked
        cause = IdleCause.UNEXPLAINED
        if process:
            cause = idle_cause(row, gives_work, waits_for_process, process in evaluating)
        parts.append(((device.number, process, cause.value, row.stage, row.operation), ns))
    return [DeviceIdleRow(*key, ns / NS_PER_S) for key, ns in sums(parts).items()]


def _tails(found: Swept) -> list[tuple[int, int]]:
    return [(tail.start_ticks, tail.end_ticks) for tail in found.sample_tails if tail.start_ticks < tail.end_ticks]


def _life(user: ProcessSweep) -> tuple[int, int]:
    """Return the part of its life in which a process speaks: its training loop, or all if it does not show one."""
    return user.found.loop or (user.found.start_ticks, user.found.end_ticks)


def _span(shared: SharedClock, device: Device) -> tuple[int, int]:
    users = [user.process for user in device.users]
    lives = [(user, *_life(user)) for user in users if user.found.loop or not any(each.found.loop for each in users)]
    starts = [shared.time(user, start) for user, start, _ in lives]
    ends = [shared.time(user, end) for user, _, end in lives]
    return min(starts), max(ends)
