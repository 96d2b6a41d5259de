"""This file lists the work of a device, piece by piece, by the operation that launched it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rlscope._analysis import device_intervals
from rlscope.analysis.counters.intervals import Intervals, Times
from rlscope.analysis.devices.devices import Device, User
from rlscope.errors import TraceError
from rlscope.model import DeviceWork
from rlscope.trace.clock import Clock

Key = tuple[str, str, str]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LaunchedWork:
    """This is what a device did for all processes of a trace.

    Attributes:
        work: when each kernel, copy and memset ran, by CLOCK_MONOTONIC; of the group g, what `keys[g]` launched.
        is_kernel: of each piece of work.
        keys: process, stage and operation, as in the table `gpu_operations`.
    """

    work: Intervals
    is_kernel: Flags
    keys: tuple[Key, ...]

    @property
    def kernels(self) -> Intervals:
        """Return when any kernel ran, in order."""
        start, end = self.work.start[self.is_kernel], self.work.end[self.is_kernel]
        return Intervals(start, end, np.zeros_like(start)).union()


def launched_work(device: Device, recover: bool) -> LaunchedWork:
    """Read the work of a device from the files of its processes.

    Raises:
        TraceError: a file cannot be read.
    """
    keys: dict[Key, int] = {}
    parts = [_work_of_user(user, keys, recover) for user in device.users]
    start, end, group = (
        np.concatenate([getattr(work, name) for work, _ in parts]) for name in ("start", "end", "group")
    )
    return LaunchedWork(Intervals(start, end, group), np.concatenate([flags for _, flags in parts]), tuple(keys))


def _work_of_user(user: User, keys: dict[Key, int], recover: bool) -> tuple[Intervals, Flags]:
    """Return the work that a process launched, and which of it are kernels; learns new `keys`."""
    process = user.process
    try:
        found = device_intervals(process.file.path, process.found.start_ticks, process.found.end_ticks, recover)
    except OSError as error:
        raise TraceError(f"a process file could not be read again: {error}; make it readable") from error
    own = np.frombuffer(found["devices"], np.uint32) == user.found.device
    start, end = (
        _monotonic_ns(process.file.clock, np.frombuffer(found[border], np.uint64)[own]) for border in ("starts", "ends")
    )
    launch_sites = np.frombuffer(found["launch_sites"], np.uint32)[own]
    number_of = np.zeros(max(found["labels"], default=0) + 1, dtype=np.int64)
    for site in np.unique(launch_sites).tolist():
        number_of[site] = keys.setdefault((process.name, *found["labels"][site]), len(keys))
    is_kernel = np.frombuffer(found["work"], np.uint8)[own] == DeviceWork.KERNEL
    takes_time = start < end  # a tick may be less than a nanosecond
    work = Intervals(start[takes_time], end[takes_time], number_of[launch_sites[takes_time]])
    return work, is_kernel[takes_time]


def _monotonic_ns(clock: Clock, ticks: npt.NDArray[np.uint64]) -> Times:
    """Return many times as `Clock.monotonic_ns` does, to the nanosecond in runs of up to a month."""
    passed_ns = (ticks.astype(np.int64) - clock.reference_ticks) * (clock.ns_per_denominator / clock.denominator)
    times_ns: Times = np.rint(passed_ns).astype(np.int64) + clock.reference_ns
    return times_ns
