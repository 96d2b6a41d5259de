"""The bytes of a process file, mirrored from `src/core/trace_format.h`; `docs/trace-format.md` explains them."""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

FILE_MAGIC = b"RLSCOPE\0"
FORMAT_VERSION = 3
#: Its headers end after `last_pair` and have no checksum.
OLDEST_READABLE_VERSION = 2
FILE_HEADER_BYTES = 4096
CHUNK_MAGIC = 0x4B4E4843
CHUNK_ALIGNMENT = 4096
CHUNK_CLOSED = 1
NO_STREAM = 0xFFFFFFFF
HOST = 0xFFFFFFFF  # the device of the queue with what happens beside the devices
MAX_VARINT_BYTES = 8
MAX_VARINT_VALUE = (1 << 56) - 1
PROGRESS_TAG = 1
BLOCKED_TAG = 2
TASK_TAG = 3
PROCESS_FILE_SUFFIX = ".rlscope"

FILE_HEADER = struct.Struct("<8s6I2Q2IiI4Q16s3Q3Q2Q")
CHUNK_HEADER = struct.Struct("<I2H6I2Q2IQ")
NAME_ENTRY = struct.Struct("<I2BH")
QUEUE_ENTRY = struct.Struct("<4I")
LAUNCH_ENTRY = struct.Struct("<3IB3x")
#: A launch's stage is a place in this list.
STAGES = ("(none)", "training_loop", "simulation", "inference", "backpropagation")


class ClockKind(IntEnum):
    """What a tick is made from."""

    TSC = 1
    MONOTONIC = 2


class EndReason(IntEnum):
    """Why recording ended in a process."""

    NONE = 0
    STOPPED = 1
    EXIT = 2
    FAILED = 3
    LIMIT = 4


class ChunkKind(IntEnum):
    """What a chunk holds."""

    EVENTS = 1
    CATALOG = 2
    FREE = 3
    DEVICE = 4


class RecordKind(IntEnum):
    """The low two bits of a record's first number."""

    BEGIN = 1
    END = 2
    OTHER = 3


class EntryType(IntEnum):
    """The kinds of entry in the catalog."""

    NAME = 1
    PROPERTIES = 2
    QUEUE = 3
    LAUNCH = 4


@dataclass(frozen=True)
class ClockPair:
    """The three clocks, read together."""

    ticks: int
    monotonic_ns: int
    realtime_ns: int


@dataclass(frozen=True)
class FileHeader:
    """The first 176 bytes of a process file, but for the checksum."""

    clock: int
    tick_shift: int
    pid: int
    parent_pid: int
    start_ticks: int
    stop_ticks: int
    end_reason: int
    stop_errno: int
    exit_status: int
    dropped_records: int
    misnested_operations: int
    dropped_device_records: int
    unresolved_launches: int
    boot_id: bytes
    first_pair: ClockPair
    last_pair: ClockPair
    file_bytes: int = 0
    chunks: int = 0  # that are closed
    format_version: int = FORMAT_VERSION

    @property
    def has_extent(self) -> bool:
        """Whether it says how much there is of the file, and has a checksum."""
        return self.stop_ticks != 0 and self.format_version > OLDEST_READABLE_VERSION

    def pack(self) -> bytes:
        """The header as it is in the file, without the zeroes that fill its page."""
        return self._packed(crc32c(self._packed(0)) if self.has_extent else 0)

    def _packed(self, checksum: int) -> bytes:
        first, last = self.first_pair, self.last_pair
        return FILE_HEADER.pack(
            FILE_MAGIC, self.format_version, FILE_HEADER_BYTES, self.clock, self.tick_shift, self.pid, self.parent_pid,
            self.start_ticks, self.stop_ticks, self.end_reason, self.stop_errno, self.exit_status, checksum,
            self.dropped_records, self.misnested_operations, self.dropped_device_records, self.unresolved_launches,
            self.boot_id,
            first.ticks, first.monotonic_ns, first.realtime_ns, last.ticks, last.monotonic_ns, last.realtime_ns,
            self.file_bytes, self.chunks,
        )  # fmt: skip

    @classmethod
    def unpack(cls, data: bytes) -> "FileHeader":
        """The header from its bytes. The magic and the version are the caller's to check (`read_version`)."""
        fields: tuple[Any, ...] = FILE_HEADER.unpack_from(data)
        pairs = ClockPair(*fields[18:21]), ClockPair(*fields[21:24])
        return cls(*(*fields[3:12], *fields[13:18], *pairs, *fields[24:26], fields[1]))


def read_version(data: bytes) -> int | None:
    """The format version that `data`, the start of a file, says; None if this is not a process file."""
    if len(data) < FILE_HEADER.size or not data.startswith(FILE_MAGIC):
        return None
    return int(FILE_HEADER.unpack_from(data)[1])


def encode_varint(value: int) -> bytes:
    """A prefix varint: n bytes are n-1 one bits, a zero bit, 7n bits of value, as a little-endian word."""
    if not 1 <= value <= MAX_VARINT_VALUE:
        raise ValueError(f"a varint holds 1 to {MAX_VARINT_VALUE}, not {value}")
    size = (value.bit_length() + 6) // 7
    return (value << size | (1 << size - 1) - 1).to_bytes(size, "little")


def decode_varint(data: bytes, offset: int) -> tuple[int, int]:
    """The number at `offset` and the offset behind it."""
    size = (~data[offset] & data[offset] + 1).bit_length()
    word = int.from_bytes(data[offset : offset + size], "little")
    return word >> size, offset + size


def _crc32c_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_CRC32C_TABLE = _crc32c_table()


def crc32c(data: bytes | bytearray) -> int:
    """The CRC-32C (Castagnoli) of `data`."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC32C_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
