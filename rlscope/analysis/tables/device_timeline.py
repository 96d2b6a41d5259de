"""When each device worked for any process of a trace, in equal parts of the run."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rlscope._analysis import device_union
from rlscope.analysis.sweep import NS_PER_S, ProcessSweep, TraceSweep
from rlscope.analysis.tables.devices import Device
from rlscope.analysis.utilization import LIMIT, Utilization, utilization_in_parts
from rlscope.errors import TraceError
from rlscope.trace.clock import Clock, clock_id

PARTS = 200
DEVICE_TIMELINE_COLUMNS = ("device", "start_s", "end_s", "busy", "reported")


@dataclass(frozen=True)
class BusyParts:
    """How long a device worked for any process in each of the equal parts of the run.

    Attributes:
        borders_ns: where the parts begin and where the last one ends, in nanoseconds since 1970.
        busy_ns: of each part. They sum to all time in which the device worked.
    """

    borders_ns: list[int]
    busy_ns: list[int]


def busy_parts(swept: TraceSweep, devices: list[Device], recover: bool) -> dict[int, BusyParts]:
    """Of each device, by its number.

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


def device_timeline_table(
    swept: TraceSweep, devices: list[Device], parts: Mapping[int, BusyParts], utilization: Utilization
) -> pd.DataFrame:
    """One row per device and part of the run; empty without devices."""
    origin_ns = min(process.start_ns for process in swept.processes)
    if not devices:
        return pd.DataFrame(columns=list(DEVICE_TIMELINE_COLUMNS))
    samples = utilization.samples
    offset_ns = swept.main.file.clock.realtime_offset_ns
    tables = []
    for device in devices:
        borders_ns = np.array(parts[device.number].borders_ns, dtype=np.int64)
        lengths_ns = np.diff(borders_ns)
        own = samples[samples["source"] == device.uuid]
        reported = utilization_in_parts(own, borders_ns - offset_ns).get(device.uuid or "")
        borders_s = (borders_ns - origin_ns) / NS_PER_S
        tables.append(
            pd.DataFrame(
                {
                    "device": device.number,
                    "start_s": borders_s[:-1],
                    "end_s": borders_s[1:],
                    # Ends are rounded to nanoseconds, each for itself.
                    "busy": np.minimum(np.array(parts[device.number].busy_ns) / np.maximum(lengths_ns, 1), 1.0),
                    "reported": np.full(len(lengths_ns), np.nan) if reported is None else reported,
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def _union(swept: TraceSweep, devices: list[Device], recover: bool) -> dict[int, BusyParts]:
    """The same of the devices of one machine: the files' device work is read together."""
    places: dict[int, dict[int, int]] = {}
    processes: dict[int, ProcessSweep] = {}
    for place, device in enumerate(devices):
        for user in device.users:
            processes[id(user.process)] = user.process
            places.setdefault(id(user.process), {})[user.found["device"]] = place
    users = list(processes.values())
    clock = _common_clock(users)
    is_one_clock = clock is users[0].file.clock
    start, width, count = _bins(swept, users, clock, is_one_clock)
    # The run may have begun on another machine before this one's clock began.
    shift = max(-start, 0)
    arguments = [
        (
            process.file.path,
            process.found["start_ticks"],
            process.found["end_ticks"],
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
        ticks = process.found["start_ticks"], process.found["end_ticks"]
        times_ns = [convert(tick) for tick in ticks for convert in (clock.realtime_ns, clock.monotonic_ns)]
        if not all(0 <= time_ns < LIMIT for time_ns in times_ns):
            raise TraceError(
                f"times from 1970 to 2116 were expected, but {process.file.path} says {min(times_ns)} ns to "
                f"{max(times_ns)} ns; its header is damaged, move the file away"
            )


def _common_clock(users: list[ProcessSweep]) -> Clock:
    """In ticks, which are exact, where all processes have the same, as they usually do; else in nanoseconds."""
    clock = users[0].file.clock
    if len({clock_id(process.file.header) for process in users}) == 1:
        return clock
    return Clock(0, 0, 1, 1, clock.realtime_offset_ns)


def _bins(swept: TraceSweep, users: list[ProcessSweep], clock: Clock, is_one_clock: bool) -> tuple[int, int, int]:
    """Start, width and number of the parts by `clock`; they cover the whole run, and all of the users' lives."""
    starts = [clock.ticks_at(min(process.start_ns for process in swept.processes) - clock.realtime_offset_ns)]
    ends = [clock.ticks_at(max(process.end_ns for process in swept.processes) - clock.realtime_offset_ns)]
    for process in users:
        own = process.found["start_ticks"], process.found["end_ticks"]
        start, end = own if is_one_clock else map(process.file.clock.monotonic_ns, own)
        starts.append(start)
        ends.append(end)
    length = max(max(ends) - min(starts), 1)
    width = -(-length // PARTS)
    return min(starts), width, -(-length // width)


def _conversion(clock: Clock, shift_ns: int) -> tuple[int, int, int, int]:
    """As `device_union` wants it: to CLOCK_MONOTONIC, and so much later."""
    return clock.reference_ticks, clock.reference_ns + shift_ns, clock.ns_per_denominator, clock.denominator
