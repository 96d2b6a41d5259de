"""This file finds when each device worked for any process of a trace, in equal parts of the run."""

from collections.abc import Mapping
from itertools import pairwise

from rlscope._analysis import device_union
from rlscope.analysis.reported import Utilization
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import NS_PER_S, ProcessSweep, TraceSweep
from rlscope.analysis.table_rows import DeviceTimelineRow
from rlscope.analysis.tables.devices import BusyParts, Device
from rlscope.errors import TraceError
from rlscope.trace.clock import Clock, clock_id

PARTS = 200
#: Later times than any machine has are damage.
LATEST_NS = 1 << 62


def busy_parts(swept: TraceSweep, devices: list[Device], recover: bool) -> dict[int, BusyParts]:
    """Return the busy parts of each device, by its number.

    Raises:
        TraceError: a process file cannot be read, or says times that cannot be.
    """
    if devices:
        _check_times(swept)
    by_boot: dict[bytes, list[Device]] = {}
    for device in devices:
        by_boot.setdefault(device.users[0].process.file.header.boot_id, []).append(device)
    found: dict[int, BusyParts] = {}
    for of_boot in by_boot.values():
        found |= _union(swept, of_boot, recover)
    return found


def device_timeline_rows(
    swept: TraceSweep, devices: list[Device], parts: Mapping[int, BusyParts], utilization: Utilization
) -> Rows[DeviceTimelineRow]:
    """Make one row per device and part of the run; none without devices."""
    origin_ns = min(process.start_ns for process in swept.processes)
    offset_ns = swept.main.file.clock.realtime_offset_ns
    rows: list[DeviceTimelineRow] = []
    for device in devices:
        borders_ns, busy_ns = parts[device.number].borders_ns, parts[device.number].busy_ns
        reported = utilization.in_parts(device.uuid, [border_ns - offset_ns for border_ns in borders_ns])
        for (start_ns, end_ns), worked_ns, share in zip(pairwise(borders_ns), busy_ns, reported, strict=True):
            # Ends are rounded to nanoseconds, each for itself.
            busy = min(worked_ns / max(end_ns - start_ns, 1), 1.0)
            start_s, end_s = ((border_ns - origin_ns) / NS_PER_S for border_ns in (start_ns, end_ns))
            rows.append(DeviceTimelineRow(device.number, start_s, end_s, busy, share))
    return Rows(DeviceTimelineRow, rows)


def _union(swept: TraceSweep, devices: list[Device], recover: bool) -> dict[int, BusyParts]:
    """Return the same of the devices of one machine: the files' device work is read together."""
    places: dict[int, dict[int, int]] = {}
    processes: dict[int, ProcessSweep] = {}
    for place, device in enumerate(devices):
        for user in device.users:
            processes[id(user.process)] = user.process
            places.setdefault(id(user.process), {})[user.found.device] = place
    users = list(processes.values())
    clock = _common_clock(users)
    is_one_clock = clock is users[0].file.clock
    start, width, count = _bins(swept, users, clock, is_one_clock)
    # The run may have begun on another machine before this one's clock began.
    shift = max(-start, 0)
    arguments = [
        (
            process.file.path,
            process.found.start_ticks,
            process.found.end_ticks,
            (0, shift, 1, 1) if is_one_clock else _conversion(process.file.clock, shift),
            places[key],
        )
        for key, process in processes.items()
    ]
    try:
        busy = device_union(arguments, recover, bins=(start + shift, width, count))
    except OSError as error:
        raise TraceError(f"process files could not be read together: {error}; make them readable") from error
    borders_ns = [clock.realtime_ns(start + number * width) for number in range(count + 1)]
    return {
        device.number: BusyParts(borders_ns, clock.partition_ns(users[0].file.header.start_ticks, ticks))
        for device, ticks in zip(devices, busy, strict=True)
    }


def _check_times(swept: TraceSweep) -> None:
    for process in swept.processes:
        clock = process.file.clock
        ticks = process.found.start_ticks, process.found.end_ticks
        times_ns = [convert(tick) for tick in ticks for convert in (clock.realtime_ns, clock.monotonic_ns)]
        if not all(0 <= time_ns < LATEST_NS for time_ns in times_ns):
            raise TraceError(
                f"times from 1970 to 2116 were expected, but {process.file.path} says {min(times_ns)} ns to "
                f"{max(times_ns)} ns; its header is damaged, move the file away"
            )


def _common_clock(users: list[ProcessSweep]) -> Clock:
    """Return a clock in ticks, which are exact, where all processes share one; else in nanoseconds."""
    clock = users[0].file.clock
    if len({clock_id(process.file.header) for process in users}) == 1:
        return clock
    return Clock(0, 0, 1, 1, clock.realtime_offset_ns)


def _bins(swept: TraceSweep, users: list[ProcessSweep], clock: Clock, is_one_clock: bool) -> tuple[int, int, int]:
    """Return start, width and number of the parts by `clock`; they cover the whole run and all of the users' lives."""
    starts = [clock.ticks_at(min(process.start_ns for process in swept.processes) - clock.realtime_offset_ns)]
    ends = [clock.ticks_at(max(process.end_ns for process in swept.processes) - clock.realtime_offset_ns)]
    for process in users:
        own = process.found.start_ticks, process.found.end_ticks
        start, end = own if is_one_clock else map(process.file.clock.monotonic_ns, own)
        starts.append(start)
        ends.append(end)
    length = max(max(ends) - min(starts), 1)
    width = -(-length // PARTS)
    return min(starts), width, -(-length // width)


def _conversion(clock: Clock, shift_ns: int) -> tuple[int, int, int, int]:
    """Return the conversion to CLOCK_MONOTONIC, shifted by so much, as `device_union` wants it."""
    return clock.reference_ticks, clock.reference_ns + shift_ns, clock.ns_per_denominator, clock.denominator
