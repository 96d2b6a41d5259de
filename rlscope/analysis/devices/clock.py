"""This file puts the processes that used the devices of a machine on one clock."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rlscope.analysis.devices.devices import Device
from rlscope.analysis.sweep import ProcessSweep, TraceSweep
from rlscope.errors import TraceError
from rlscope.trace.clock import Clock, clock_id

#: Later times than any machine has are damage.
LATEST_NS = 1 << 62
#: A process as `device_union` takes it.
UnionProcess = tuple[Path, int, int, tuple[int, int, int, int], dict[int, int]]


@dataclass(frozen=True)
class SharedClock:
    """The devices of a machine, and the processes that used them, on a clock that these share.

    Attributes:
        devices: A device's place is its place here.
        users: The processes; a process's place is its place here.
        clock: Makes nanoseconds of the shared time less `shift`.
        is_in_ticks: Shared time is in ticks, which are exact, for all users have the same clock; else in nanoseconds.
        shift: Makes shared time positive: the run may have begun on another machine before this one's clock did.
        start: When the run began, in shared time.
        end: When it ended. The users' lives lie between.
    """

    devices: list[Device]
    users: list[ProcessSweep]
    clock: Clock
    is_in_ticks: bool
    shift: int
    start: int
    end: int

    def time(self, user: ProcessSweep, ticks: int) -> int:
        """Return the shared time at ticks of a user's own clock."""
        return (ticks if self.is_in_ticks else user.file.clock.monotonic_ns(ticks)) + self.shift

    def realtime_ns(self, time: int) -> int:
        """Return nanoseconds since 1970 at a shared time."""
        return self.clock.realtime_ns(time - self.shift)

    def lengths_ns(self, parts: list[int]) -> list[int]:
        """Convert lengths, such that their sum is what the sum of them converts to."""
        return self.clock.partition_ns(self.users[0].file.header.start_ticks, parts)

    def inputs(self) -> list[UnionProcess]:
        """Return the users as `device_union` takes them."""
        found = []
        for user in self.users:
            clock = user.file.clock
            conversion = (0, self.shift, 1, 1)
            if not self.is_in_ticks:
                reference_ns = clock.reference_ns + self.shift
                conversion = (clock.reference_ticks, reference_ns, clock.ns_per_denominator, clock.denominator)
            places = {
                each.found.device: place
                for place, device in enumerate(self.devices)
                for each in device.users
                if each.process is user
            }
            found.append((user.file.path, user.found.start_ticks, user.found.end_ticks, conversion, places))
        return found


def shared_clocks(swept: TraceSweep, devices: list[Device]) -> list[SharedClock]:
    """Return one for the devices of each boot of a machine.

    Raises:
        TraceError: a process file says times that cannot be.
    """
    if devices:
        _check_times(swept)
    by_boot: dict[bytes, list[Device]] = {}
    for device in devices:
        by_boot.setdefault(device.users[0].process.file.header.boot_id, []).append(device)
    return [_shared_clock(swept, of_boot) for of_boot in by_boot.values()]


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


def _shared_clock(swept: TraceSweep, devices: list[Device]) -> SharedClock:
    users = list({id(each.process): each.process for device in devices for each in device.users}.values())
    clock, is_in_ticks = users[0].file.clock, len({clock_id(user.file.header) for user in users}) == 1
    if not is_in_ticks:
        clock = Clock(0, 0, 1, 1, clock.realtime_offset_ns)
    starts = [clock.ticks_at(min(process.start_ns for process in swept.processes) - clock.realtime_offset_ns)]
    ends = [clock.ticks_at(max(process.end_ns for process in swept.processes) - clock.realtime_offset_ns)]
    unshifted = SharedClock(devices, users, clock, is_in_ticks, 0, 0, 0)
    start = min([*starts, *(unshifted.time(user, user.found.start_ticks) for user in users)])
    end = max([*ends, *(unshifted.time(user, user.found.end_ticks) for user in users)])
    shift = max(-start, 0)
    return replace(unshifted, shift=shift, start=start + shift, end=end + shift)


@contextmanager
def reading_together() -> Iterator[None]:
    """Raise a TraceError where the system's error stops the processes' files from being read."""
    try:
        yield
    except OSError as error:
        raise TraceError(f"process files could not be read together: {error}; make them readable") from error
