"""This file finds why each device of a trace did nothing in the training loop."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from rlscope._analysis import device_idle
from rlscope.analysis.devices.causes import IdleCause, idle_cause
from rlscope.analysis.devices.clock import SharedClock, reading_together
from rlscope.analysis.devices.devices import Device
from rlscope.analysis.devices.rows import DeviceIdleRow
from rlscope.analysis.devices.swept import SweptIdle
from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.sweep import NS_PER_S, ProcessSweep
from rlscope.analysis.table_rows import DependencyRow

#: A device that did nothing, why, and what was done meanwhile.
_Key = tuple[int, str, str, str, str]


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
        spans = [_span(shared, device) for device in shared.devices]
        users = [(given, *_life(user)) for given, user in zip(shared.inputs(), shared.users, strict=True)]
        with reading_together():
            found = device_idle(users, spans, recover)
        for place, device in enumerate(shared.devices):
            rows += _rows(shared, device, [row for row in found if row.place == place], linked, evaluating)
    return Rows(DeviceIdleRow, rows)


def _rows(
    shared: SharedClock,
    device: Device,
    found: list[SweptIdle],
    linked: AbstractSet[tuple[str, str]],
    evaluating: AbstractSet[str],
) -> list[DeviceIdleRow]:
    launching = {
        (user.process.name, row.stage, row.operation)
        for user in device.users
        for row in user.process.found.device_operations
        if row.device == user.found.device
    }
    parts: list[tuple[_Key, int]] = []
    for row, ns in zip(found, shared.lengths_ns([row.time for row in found]), strict=True):
        name = "" if row.user is None else shared.users[row.user].name
        gives_work = (name, row.stage, row.operation) in launching
        waits_for_process = (name, row.wait.partition(" ")[2]) in linked
        cause: IdleCause = idle_cause(row, gives_work, waits_for_process, name in evaluating)
        parts.append(((device.number, name, cause.value, row.stage, row.operation), ns))
    return [DeviceIdleRow(*key, ns / NS_PER_S) for key, ns in sums(parts).items()]


def _life(user: ProcessSweep) -> tuple[int, int]:
    """Return the part of its life in which a process speaks: its training loop, or all if it does not show one."""
    return user.found.loop or (user.found.start_ticks, user.found.end_ticks)


def _span(shared: SharedClock, device: Device) -> tuple[int, int]:
    users = [user.process for user in device.users]
    lives = [(user, *_life(user)) for user in users if user.found.loop or not any(each.found.loop for each in users)]
    starts = [shared.time(user, start) for user, start, _ in lives]
    ends = [shared.time(user, end) for user, _, end in lives]
    return min(starts), max(ends)
