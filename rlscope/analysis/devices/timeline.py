"""This file finds when each device worked for any process of a trace, in equal parts of the run."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from rlscope._analysis import device_union
from rlscope.analysis.devices.clock import SharedClock, reading_together
from rlscope.analysis.devices.devices import BusyParts, Device
from rlscope.analysis.devices.rows import DeviceTimelineRow
from rlscope.analysis.reported import Utilization
from rlscope.analysis.rows import Rows
from rlscope.analysis.sweep import TraceSweep
from rlscope.model import NS_PER_S

PARTS = 200


def busy_parts(clocks: Sequence[SharedClock], recover: bool) -> dict[int, BusyParts]:
    """Return the busy parts of each device, by its number.

    Raises:
        TraceError: a process file cannot be read.
    """
    found: dict[int, BusyParts] = {}
    for shared in clocks:
        length = max(shared.end - shared.start, 1)
        width = -(-length // PARTS)
        count = -(-length // width)
        bins = (shared.start, width, count)
        with reading_together():
            busy = device_union(shared.inputs(), recover, bins=bins)
            communicating, computing = [[0] * count] * len(busy), busy
            if any(user.found.communication_ticks for device in shared.devices for user in device.users):
                communicating = device_union(shared.inputs(), recover, bins=bins, work="communicating")
                computing = device_union(shared.inputs(), recover, bins=bins, work="computing")
        borders_ns = [shared.realtime_ns(shared.start + number * width) for number in range(count + 1)]
        for device, *times in zip(shared.devices, busy, communicating, computing, strict=True):
            busy_ns, communication_ns, computing_ns = map(shared.lengths_ns, times)
            exposed_ns = [max(all_ns - ns, 0) for all_ns, ns in zip(busy_ns, computing_ns, strict=True)]
            found[device.number] = BusyParts(borders_ns, busy_ns, communication_ns, exposed_ns)
    return found


def device_timeline_rows(
    swept: TraceSweep, devices: list[Device], parts: Mapping[int, BusyParts], utilization: Utilization
) -> Rows[DeviceTimelineRow]:
    """Make one row per device and part of the run; none without devices."""
    origin_ns = min(process.start_ns for process in swept.processes)
    offset_ns = swept.main.file.clock.realtime_offset_ns
    rows: list[DeviceTimelineRow] = []
    for device in devices:
        found = parts[device.number]
        borders_ns = found.borders_ns
        reported = utilization.in_parts(device.uuid, [border_ns - offset_ns for border_ns in borders_ns])
        times = zip(pairwise(borders_ns), found.busy_ns, found.exposed_ns, reported, strict=True)
        for (start_ns, end_ns), busy_ns, exposed_ns, share in times:
            # Ends are rounded to nanoseconds, each for itself.
            busy, exposed = (min(ns / max(end_ns - start_ns, 1), 1.0) for ns in (busy_ns, exposed_ns))
            start_s, end_s = ((border_ns - origin_ns) / NS_PER_S for border_ns in (start_ns, end_ns))
            rows.append(DeviceTimelineRow(device.number, start_s, end_s, busy, exposed, share))
    return Rows(DeviceTimelineRow, rows)
