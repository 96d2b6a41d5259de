"""This file finds why each device of a trace did nothing in the training loop, by what processes do meanwhile."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from rlscope._analysis import device_idle
from rlscope.analysis.devices.clock import SharedClock, reading_together
from rlscope.analysis.devices.devices import Device
from rlscope.analysis.devices.rows import DeviceIdleRow
from rlscope.analysis.devices.swept import SweptIdle
from rlscope.analysis.rows import Rows, sums
from rlscope.analysis.sweep import ProcessSweep
from rlscope.analysis.swept import Swept
from rlscope.analysis.table_rows import DependencyRow
from rlscope.model import (
    CATEGORIES,
    COMPILE,
    INFERENCE,
    NO_OPERATION,
    NS_PER_S,
    REWARD,
    STAGES,
    TOOL_CALL,
    WAIT_FOR_BATCH,
    Category,
    Stage,
)

#: Of a process, by the sweep.
DEVICES_TOLD_APART = 64
#: A device that did nothing, why, and what was done meanwhile.
_Key = tuple[int, str, str, str, str]


class IdleCause(str, Enum):
    """This says why a device does nothing at an instant; the first that fits, from top to bottom, counts.

    While a trainer waits for a batch in `wait_for_batch`, its device is idle because the queue is empty. While it
    samples actions and is in Python between two launches, its device waits for Python.
    """

    EVALUATION = "evaluation"  # the phase, beside training
    COMPILE = "compile"  # the operation
    REWARD = "reward"  # the operation
    TOOL = "tool"  # the operation `tool_call`
    SIMULATION = "simulation"  # the rest of the stage, and simulators outside it
    SYNCHRONISATION = "synchronisation"  # the stage
    TAIL = "tail"  # of its samples: the rest of stage inference, in no stage `wait_for_batch` and waits
    QUEUE_EMPTY = "queue empty"  # the operation `wait_for_batch`; in no stage, a wait for another recorded process
    WAITING = "waiting"  # any other wait, also in no operation
    NO_CORE = "no core"  # a thread of the process was ready to run, and had none
    UNEXPLAINED = "unexplained"  # in no operation
    LAUNCH_BOUND = "launch-bound"  # CUDA calls, and the backend in an operation that gives the device work
    BACKEND = "backend"  # the backend in other operations: it computes on the CPU
    NATIVE = "native code"  # which no library's file knows
    PYTHON = "Python"


_OF_OPERATION = {
    COMPILE: IdleCause.COMPILE,
    REWARD: IdleCause.REWARD,
    TOOL_CALL: IdleCause.TOOL,
}


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


def loop_busy_s(clocks: Sequence[SharedClock], idle: Iterable[DeviceIdleRow]) -> dict[int, float]:
    """Return for how long each device worked from the begin of the training loop to its end, by number.

    Of a loop of 10 s in which it did nothing for 4 s it worked for 6 s.

    Args:
        clocks: Of the devices.
        idle: Why they did nothing meanwhile.
    """
    idle_s = sums((row.device, row.seconds) for row in idle)
    found: dict[int, float] = {}
    for shared in clocks:
        for device in shared.devices:
            start, end = _span(shared, device)
            (loop_ns,) = shared.lengths_ns([end - start])
            found[device.number] = max(loop_ns / NS_PER_S - idle_s.get(device.number, 0.0), 0.0)
    return found


def _life(user: ProcessSweep) -> tuple[int, int]:
    """Return the part of its life in which a process speaks: its training loop, or all if it does not show one."""
    return user.found.loop or (user.found.start_ticks, user.found.end_ticks)


def _span(shared: SharedClock, device: Device) -> tuple[int, int]:
    users = [user.process for user in device.users]
    lives = [(user, *_life(user)) for user in users if user.found.loop or not any(each.found.loop for each in users)]
    starts = [shared.time(user, start) for user, start, _ in lives]
    ends = [shared.time(user, end) for user, _, end in lives]
    return min(starts), max(ends)


def idle_cause(row: SweptIdle, gives_work: bool, waits_for_process: bool, evaluates: bool) -> IdleCause:
    """Return why a device did nothing.

    Args:
        row: What the process did that speaks for the device.
        gives_work: Whether its operation launched any work on the device in the run.
        waits_for_process: Whether it waits for another process that was recorded.
        evaluates: Whether it evaluates beside its training, rather than doing nothing else.
    """
    if row.is_evaluation and evaluates:
        return IdleCause.EVALUATION
    if row.operation in _OF_OPERATION:
        return _OF_OPERATION[row.operation]
    if row.stage and (of_stage := Stage(row.stage).idle_cause):
        return IdleCause(of_stage)
    if row.category == Category.SIMULATOR.label:
        return IdleCause.SIMULATION
    waits, waits_for_batch = row.category == Category.WAIT.label, row.operation == WAIT_FOR_BATCH
    if row.is_in_tail and (row.stage == INFERENCE or (row.stage not in STAGES and (waits or waits_for_batch))):
        return IdleCause.TAIL
    if waits_for_batch:
        return IdleCause.QUEUE_EMPTY
    if waits:
        return IdleCause.QUEUE_EMPTY if waits_for_process and row.stage not in STAGES else IdleCause.WAITING
    if row.category == Category.NO_CORE.label:
        return IdleCause.NO_CORE
    if row.operation == NO_OPERATION:
        return IdleCause.UNEXPLAINED
    if row.category == Category.BACKEND.label and gives_work:
        return IdleCause.LAUNCH_BOUND
    return IdleCause(CATEGORIES[row.category].idle_cause)
