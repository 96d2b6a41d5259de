"""This file mirrors the bytes of a process file in `src/core/format/trace_format.h`, as `docs/trace-format.md` says."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any

from rlscope import _analysis
from rlscope.model import Stage
from rlscope.version import FORMAT_VERSION

FILE_MAGIC = b"RLSCOPE\0"
#: Its headers end after `last_pair` and have no checksum.
OLDEST_READABLE_VERSION = 2
FILE_HEADER_BYTES = 4096
#: In the page of the header, behind it: who has taken which lock, and who waits for what.
LOCK_PAGE_OFFSET = 1024
TAKEN_LOCKS = 96
PLACES_OF_LOCK = 8
AWAITED_OBJECTS = 48
CHUNK_MAGIC = 0x4B4E4843
CHUNK_ALIGNMENT = 64
#: Headers of older versions end before `cut_stacks`; checksums of their chunks are of the payload alone.
OLDEST_WITH_SUMMED_HEADERS = 9
#: Files of older versions do not tell time without a core from other time.
OLDEST_WITH_NO_CORE = 10
#: Of chunks of these older files.
OLD_CHUNK_ALIGNMENT = 4096
CHUNK_CLOSED = 1
SAMPLE_DISCARDED = 1
SAMPLE_OF_TASK = 2
COLLECTIVE_UNWAITED = 1
#: So many names are kept as what is expected behind others.
EXPECTED_NAMES = 256
#: The id of a stack that changed while it was read.
TORN_STACK = 0
#: Stacks are looked at once a period, those of native calls once in so many periods.
STACK_PERIOD_NS = 1_000_000
PERIODS_OF_CALLS = 8
NO_STREAM = 0xFFFFFFFF
HOST = 0xFFFFFFFF  # the device of the queue with what happens beside the devices
MAX_VARINT_BYTES = 8
#: A launch site's stage is a place in this list.
LAUNCH_STAGES = tuple(stage.value for stage in Stage)


class ClockKind(IntEnum):
    """This is what a tick is made from."""

    TSC = 1
    MONOTONIC = 2


class EndReason(IntEnum):
    """This says why recording ended in a process."""

    NONE = 0
    STOPPED = 1
    EXIT = 2
    FAILED = 3
    LIMIT = 4


class ChunkKind(IntEnum):
    """This is what a chunk holds."""

    EVENTS = 1
    CATALOG = 2
    FREE = 3
    DEVICE = 4
    STACKS = 5


class ObjectKind(IntEnum):
    """This is what a thread waits for."""

    LOCK = 1
    SEMAPHORE = 2
    THREAD = 3
    PROCESS = 4


class RecordKind(IntEnum):
    """The low two bits of a record's first number."""

    EXPECTED = 0
    BEGIN = 1
    END = 2
    OTHER = 3


class OtherTag(IntEnum):
    """The second number of a record that is neither a begin nor an end.

    It is declared with the names of the numbers that follow it, which are stored as value + 1. C++ has each record as a
    struct of these, which `cmake/tagged_records.py` writes. `operation` and `wait` are ids of names, in the catalog's
    entries of operations and of boundaries of category `wait`.

    Attributes:
        numbers: Their names.
    """

    numbers: tuple[str, ...]

    def __new__(cls, value: int, *numbers: str) -> "OtherTag":
        """Make a member of its number and its columns."""
        tag = int.__new__(cls, value)
        tag._value_ = value
        tag.numbers = numbers
        return tag

    PROGRESS = 1, "flags", "timesteps", "total_timesteps"
    #: Up to version 9: of the time since the record before it, how long the thread was blocked, and how much of a CPU
    #: threads without a stream used meanwhile.
    BLOCKED = 2, "blocked_ticks", "helped_ticks"
    #: An operation of a coroutine or generator has ended: how long it was open, and ran.
    TASK = 3, "operation", "elapsed_ticks", "running_ticks"
    #: A sample is complete: for how long it was made, and for how long of that its task was in an operation that
    #: encloses no other; 0 where that is not known.
    SAMPLE = 4, "operation", "flags", "version", "tokens", "elapsed_ticks", "working_ticks"
    #: A call of a communicator is over: its number among the communicator's, bytes, how long ago it was called, and for
    #: how long of that its thread waited for it.
    COLLECTIVE = 5, "wait", "flags", "sequence", "bytes", "elapsed_ticks", "waited_ticks"
    #: Whose memory, the device's number in the process, bytes in use, and the most that were so far.
    MEMORY = 6, "owner", "device", "used_bytes", "peak_bytes"
    #: As BLOCKED, and how long the thread was in line for a CPU.
    ABSENT = 7, "blocked_ticks", "queued_ticks", "helped_ticks"
    #: For how many ns the thread was on a CPU since the last one, or since its first chunk began.
    CPU_TIME = 8, "cpu_ns"
    #: The call that ended with the record before it read or wrote so many bytes of a pipe or socket.
    MESSAGE = 9, "wait", "bytes"


class MemoryOwner(IntEnum):
    """This says whose memory it is: the process's, or what a library's allocator has given out of a device's."""

    HOST = 0
    PYTORCH = 1
    JAX = 2


class EntryType(IntEnum):
    """The kinds of entry in the catalog."""

    NAME = 1
    PROPERTIES = 2
    QUEUE = 3
    LAUNCH_SITE = 4
    CODE = 5
    STACK = 6


def stored(code: str, **options: Any) -> Any:
    """Declare a field of a stored dataclass: one of which the layout, packing and unpacking follow from its fields.

    Args:
        code: how `struct` packs it. The code of a field that is a stored dataclass itself is that class.
        options: what `dataclasses.field` takes.
    """
    return field(metadata={"code": code}, **options)


def layout(stored_class: Any) -> struct.Struct:
    """Return the bytes of a stored dataclass: its fields, one after the other in the order in which they stand."""
    return struct.Struct("<" + _codes(stored_class))


def _codes(stored_class: Any) -> str:
    codes = (part.metadata["code"] for part in fields(stored_class))
    return "".join(code if isinstance(code, str) else _codes(code) for code in codes)


def numbers_of(record: Any) -> Iterator[Any]:
    """Yield the values of a stored dataclass as its layout packs them."""
    for part in fields(record):
        value = getattr(record, part.name)
        if isinstance(part.metadata["code"], str):
            yield value
        else:
            yield from numbers_of(value)


def pack(record: Any) -> bytes:
    """Return a stored dataclass as it is in the file."""
    return layout(type(record)).pack(*numbers_of(record))


def from_numbers(stored_class: Any, numbers: Iterator[Any]) -> Any:
    """Make a stored dataclass from the values that its layout unpacks."""
    values = {}
    for part in fields(stored_class):
        code = part.metadata["code"]
        values[part.name] = next(numbers) if isinstance(code, str) else from_numbers(code, numbers)
    return stored_class(**values)


@dataclass(frozen=True)
class ClockPair:
    """The three clocks, read together."""

    ticks: int = stored("Q")
    monotonic_ns: int = stored("Q")
    realtime_ns: int = stored("Q")


@dataclass(frozen=True, kw_only=True)
class FileHeader:
    """The first bytes of a process file. `docs/trace-format.md` says what the fields mean."""

    magic: bytes = stored("8s", default=FILE_MAGIC)
    format_version: int = stored("I", default=FORMAT_VERSION)
    header_bytes: int = stored("I", default=FILE_HEADER_BYTES)
    clock: int = stored("I")
    tick_shift: int = stored("I")
    pid: int = stored("I")
    parent_pid: int = stored("I")
    start_ticks: int = stored("Q")
    stop_ticks: int = stored("Q", default=0)
    end_reason: int = stored("I", default=EndReason.NONE)
    stop_errno: int = stored("I", default=0)
    exit_status: int = stored("i", default=0)
    header_crc32c: int = stored("I", default=0, compare=False)  # `pack` finds it
    dropped_records: int = stored("Q", default=0)
    misnested_operations: int = stored("Q", default=0)
    dropped_device_records: int = stored("Q", default=0)
    unresolved_launches: int = stored("Q", default=0)
    boot_id: bytes = stored("16s")
    first_pair: ClockPair = field(metadata={"code": ClockPair})
    last_pair: ClockPair = field(metadata={"code": ClockPair})
    file_bytes: int = stored("Q", default=0)
    chunks: int = stored("Q", default=0)
    cut_stacks: int = stored("Q", default=0)
    ended: int = stored("Q", default=0)
    children_without_file: int = stored("Q", default=0)

    @property
    def exit_code(self) -> int | None:
        """Return what the process gave to exit() or _exit(); None where it did not end so, or the file is older."""
        if self.ended:
            return (self.ended & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)
        return self.exit_status if self.end_reason == EndReason.EXIT and self.format_version < 9 else None

    @property
    def has_extent(self) -> bool:
        """Return whether it says how much there is of the file, and has a checksum."""
        return self.stop_ticks != 0 and self.format_version > OLDEST_READABLE_VERSION

    @property
    def tells_no_core(self) -> bool:
        """Return whether time without a core is told from other time."""
        return self.format_version >= OLDEST_WITH_NO_CORE

    def pack(self) -> bytes:
        """Return the header as it is in the file, without the zeroes that fill its page."""
        unsummed = pack(replace(self, header_crc32c=0))
        if not self.has_extent:
            return unsummed
        # What lies behind may be written when the rest is finished.
        summed_bytes = 176 if self.format_version < OLDEST_WITH_SUMMED_HEADERS else 184
        return pack(replace(self, header_crc32c=_analysis.crc32c(unsummed[:summed_bytes])))

    @classmethod
    def unpack(cls, data: bytes) -> "FileHeader":
        """Read the header from its bytes, which `rlscope._analysis.header` has checked."""
        header: FileHeader = from_numbers(cls, iter(FILE_HEADER.unpack_from(data)))
        return header


FILE_HEADER = layout(FileHeader)


@dataclass(frozen=True)
class TakenLock:
    """A thread has taken a lock, the last one to do so."""

    object: int = stored("Q")
    thread_id: int = stored("Q")
    ticks: int = stored("Q")


@dataclass(frozen=True)
class AwaitedObject:
    """A thread waits for a lock, a semaphore, a thread or a process."""

    object: int = stored("Q")
    thread_id: int = stored("I")
    kind: int = stored("I")
