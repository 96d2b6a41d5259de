"""The bytes of chunks, of entries in the catalog and of numbers, for who writes or checks them: C++ reads them."""

from dataclasses import dataclass

from rlscope.trace.format import CHUNK_MAGIC, MAX_VARINT_BYTES, layout, stored

MAX_VARINT_VALUE = (1 << 7 * MAX_VARINT_BYTES) - 1


@dataclass(frozen=True, kw_only=True)
class ChunkHeader:
    """The first bytes of a chunk."""

    magic: int = stored("I", default=CHUNK_MAGIC)
    kind: int = stored("H")
    flags: int = stored("H")
    chunk_bytes: int = stored("I")
    payload_offset: int = stored("I")
    payload_bytes: int = stored("I")
    crc32c: int = stored("I")
    stream: int = stored("I")
    sequence: int = stored("I")
    base_ticks: int = stored("Q")
    switch_ticks: int = stored("Q")
    depth: int = stored("I")
    reserved: int = stored("I", default=0)
    thread_id: int = stored("Q")


@dataclass(frozen=True)
class NameEntry:
    """A name in the catalog; its text follows."""

    id: int = stored("I")
    kind: int = stored("B")
    category: int = stored("B")
    name_bytes: int = stored("H")


@dataclass(frozen=True)
class QueueEntry:
    """A queue in the catalog."""

    stream: int = stored("I")
    device: int = stored("I")
    context: int = stored("I")
    cuda_stream: int = stored("I")


@dataclass(frozen=True)
class LaunchSite:
    """A place in the catalog that device work is launched from."""

    id: int = stored("I")
    stream: int = stored("I")
    operation: int = stored("I")
    stage: int = stored("B")
    reserved: bytes = stored("3s", default=bytes(3))


@dataclass(frozen=True)
class CodeEntry:
    """A Python function in the catalog; its qualified name and its file follow."""

    id: int = stored("I")
    first_line: int = stored("I")
    name_bytes: int = stored("H")
    file_bytes: int = stored("H")


@dataclass(frozen=True)
class StackEntry:
    """A frame of a Python stack in the catalog, with the id of the stack that called it; 0: of none."""

    id: int = stored("I")
    caller: int = stored("I")
    code: int = stored("I")
    line: int = stored("I")


CHUNK_HEADER = layout(ChunkHeader)
NAME_ENTRY = layout(NameEntry)


def with_complement(number: int) -> int:
    """Return a number of 32 bits with its complement in the upper half of 64."""
    return (~number & 0xFFFFFFFF) << 32 | number & 0xFFFFFFFF


def encode_varint(value: int) -> bytes:
    """Code a prefix varint: n bytes are n-1 one bits, a zero bit, 7n bits of value, as a little-endian word."""
    if not 1 <= value <= MAX_VARINT_VALUE:
        raise ValueError(f"a varint holds 1 to {MAX_VARINT_VALUE}, not {value}")
    size = (value.bit_length() + 6) // 7
    return (value << size | (1 << size - 1) - 1).to_bytes(size, "little")


def decode_varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return the number at `offset` and the offset behind it."""
    size = (~data[offset] & data[offset] + 1).bit_length()
    word = int.from_bytes(data[offset : offset + size], "little")
    return word >> size, offset + size
