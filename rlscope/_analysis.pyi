"""Types of the extension module that sweeps a process's trace file."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TypedDict, overload

from rlscope.analysis.detail.swept import EventWindow, SliceBatch, SliceTracks
from rlscope.analysis.devices.swept import SweptPlaceIdle, SweptSharing
from rlscope.analysis.hang.swept import ProcessPlaces
from rlscope.analysis.swept import Swept

# Of recording an event, in ticks: inside the recorded interval, and outside.
TickCost = tuple[tuple[float, float, float], tuple[float, float, float]]

# With `since_ticks`, what [since_ticks, end) has, where `limit_ticks` ends it of a process that still records. The
# state at its start is known from each thread's last chunk that begins before it; what lies before that is not read.
# Time, events and progress are those that the sweep of all has there, to the tick unless several threads ran for parts
# of the gap that it cuts. What is open begins there, the training loop too. Left out is device work that began in a
# chunk before the last two of its queue there, samples, which depend on earlier ones, calls of communicators, and what
# a process did while its devices did nothing. Of a thread that native code called first, transitions may begin in
# another category. Where several threads have phases open at once, as much is read as tells their order. `costs` and
# `borders` are refused. With `decodes_ahead` another thread decodes the records; nothing else differs.
def sweep(
    path: str | PathLike[str],
    limit_ticks: int = 0,
    recover: bool = False,
    by_thread: bool = False,
    coincident: bool = False,
    costs: dict[str, TickCost] | None = None,
    borders: bytes | None = None,
    since_ticks: int = 0,
    decodes_ahead: bool = False,
) -> Swept: ...

# The header of a process file, checked: what rlscope.trace.format.FileHeader unpacks.
def header(path: str | PathLike[str]) -> bytes: ...

# Where the threads of a process were at their last records; of one that still records, so far.
def last_places(path: str | PathLike[str], recover: bool = False) -> ProcessPlaces: ...

# What `sweep` finds under this name, known before the sweep.
def properties(path: str | PathLike[str], recover: bool = False) -> dict[str, object]: ...

# (path, start_ticks, end_ticks, clock, place in the result of each of the process's devices). The clock makes `to +
# (ticks - from) * numerator / denominator` of ticks, rounded, from the tuple (from, to, numerator, denominator).
_UnionProcess = tuple[str | PathLike[str], int, int, tuple[int, int, int, int], dict[int, int]]

# How long each device worked for any of the processes, in the time that the clocks make. With `bins`, (start, width,
# count) in that time, how long it did so within each bin; what lies outside the bins is left out. `work`: "any", or how
# long some of it was "computing", or "communicating" with other devices.
@overload
def device_union(
    processes: Sequence[_UnionProcess], recover: bool = False, bins: None = None, work: str = "any"
) -> list[int]: ...
@overload
def device_union(
    processes: Sequence[_UnionProcess], recover: bool = False, *, bins: tuple[int, int, int], work: str = "any"
) -> list[list[int]]: ...

# Who had each device, by place; processes by the order in which they are given.
def device_sharing(processes: Sequence[_UnionProcess], recover: bool = False) -> list[SweptSharing]: ...

# (process, start_ticks, end_ticks, tails): it speaks for its devices between these ticks. Tails are of its samples, in
# ticks and in order. Spans are of places, in the time that the clocks make.
def device_idle(
    users: Sequence[tuple[_UnionProcess, int, int, Sequence[tuple[int, int]]]],
    spans: Sequence[tuple[int, int]],
    recover: bool = False,
) -> list[SweptPlaceIdle]: ...

class DeviceIntervals(TypedDict):
    # One entry of each per piece of device work, in order of its start: of 8 bytes, in ticks.
    starts: bytes
    ends: bytes
    # Of 4 bytes: CUDA's number in the process, and the key in `labels`.
    devices: bytes
    launch_sites: bytes
    work: bytes  # of 1 byte: rlscope.model.DeviceWork
    labels: dict[int, tuple[str, str]]  # (stage, operation) as in device_operations, by launch site

# Clipped to the process's life; what takes no time there is left out.
def device_intervals(
    path: str | PathLike[str], start_ticks: int, end_ticks: int, recover: bool = False
) -> DeviceIntervals: ...

class CommunicationIntervals(TypedDict):
    # One entry of each per piece of communication, in order of its start: of 8 bytes, in ticks.
    starts: bytes
    ends: bytes
    # Of 4 bytes: CUDA's number in the process, the queue, and the key in `names`.
    devices: bytes
    queues: bytes
    name_ids: bytes
    # One entry of each per interval in which a device did nothing else: of 8 bytes, in ticks, and of 4 bytes, the place
    # of the earliest piece that ran.
    exposed_starts: bytes
    exposed_ends: bytes
    exposed_pieces: bytes
    names: dict[int, str]

# Clipped to the process's life; what takes no time there is left out.
def communication_intervals(
    path: str | PathLike[str], start_ticks: int, end_ticks: int, recover: bool = False
) -> CommunicationIntervals: ...

# Of all threads together at most `most_events`, from the start of the window on.
def event_window(
    path: str | PathLike[str], start_ticks: int, end_ticks: int, most_events: int, recover: bool = False
) -> EventWindow: ...

# (start_ticks, end_ticks, clock, origin_ns): the clock, as in `device_union`, makes nanoseconds since 1970, and the run
# began at `origin_ns`, not after the start.
_SliceWindow = tuple[int, int, tuple[int, int, int, int], int]

# Slices are clipped to the window. Of tasks and of calls of communicators it has those that end in it; of a part of a
# life not the work of a queue that began in a chunk before the last two there. `communicators` has the number of each,
# from 1, by its label.
def slice_batches(
    path: str | PathLike[str],
    window: _SliceWindow,
    communicators: Mapping[str, int],
    most_slices: int,
    on_batch: Callable[[SliceBatch], None],
    recover: bool = False,
) -> SliceTracks: ...

# A track's packets are a sequence of their own, and its uuid is that sequence's number: `first_number` and on.
def perfetto_slices(
    path: str | PathLike[str],
    window: _SliceWindow,
    communicators: Mapping[str, int],
    first_number: int,
    write: Callable[[bytes], object],
    recover: bool = False,
) -> SliceTracks: ...

# The CRC-32C of what came before, of which it was `crc`, and `data`.
def crc32c(data: bytes | bytearray | memoryview, crc: int = 0, /) -> int: ...

# How many bytes of trace files this program has read so far, in all threads: it grows while a file is swept.
def bytes_read() -> int: ...
