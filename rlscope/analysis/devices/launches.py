"""This file computes whose launches devices waited for: how short the kernels are, and how long the gap of each."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rlscope.analysis.devices.devices import Device
from rlscope.analysis.devices.idle import IdleCause
from rlscope.analysis.devices.rows import DeviceIdleRow, LaunchRow
from rlscope.analysis.rows import Rows, sums
from rlscope.model import NS_PER_S

#: Why a device does nothing while an operation gets it to work. In a simulator's operation it may be the simulator that
#: takes long, and a graph does not hold that.
LAUNCHING = {IdleCause.LAUNCH_BOUND.value, IdleCause.PYTHON.value, IdleCause.BACKEND.value}
#: Fewer launches are no loop of them.
LEAST_LAUNCHES = 100


def launch_rows(devices: Sequence[Device], idle: Iterable[DeviceIdleRow]) -> Rows[LaunchRow]:
    """Make one row per process, device, stage and operation whose launches the device waited for, the longest first.

    Args:
        devices: Of the trace.
        idle: Why they did nothing.
    """
    waited_s = sums(
        ((row.process, row.device, row.stage, row.operation), row.seconds) for row in idle if row.cause in LAUNCHING
    )
    rows = []
    for device in devices:
        for user in device.users:
            process, launches, ticks = user.process, Counter[tuple[str, str]](), Counter[tuple[str, str]]()
            for launched in process.found.device_operations:
                if launched.device == user.found.device:
                    launches[launched.stage, launched.operation] += launched.kernels
            for work in process.found.device_work:
                if work.device == user.found.device and not work.moved_bytes:
                    ticks[work.stage, work.operation] += work.ticks
            for place, kernels in launches.items():
                gap_s = waited_s.get((process.name, device.number, *place), 0.0)
                if kernels >= LEAST_LAUNCHES and gap_s > 0:
                    kernel_s = process.length_ns(ticks[place]) / NS_PER_S
                    means = kernel_s / kernels, gap_s / kernels
                    rows.append(LaunchRow(process.name, device.number, *place, kernels, *means, gap_s))
    return Rows(LaunchRow, sorted(rows, key=lambda row: -row.graph_saves_s))
