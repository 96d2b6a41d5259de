"""Counts the calls that a process file holds under their full names, by the format's description alone."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.trace_entries import CHUNK_HEADER, NAME_ENTRY, ChunkHeader, decode_varint
from rlscope.trace.format import (
    CHUNK_MAGIC,
    EXPECTED_NAMES,
    FILE_HEADER_BYTES,
    ChunkKind,
    EntryType,
    OtherTag,
    RecordKind,
    from_numbers,
)

WORD = 4


def count_calls(path: Path) -> Counter[str]:
    """How often each name was begun, with the streams that the sweep's `crossings` leave out."""
    data = path.read_bytes()
    names: dict[int, str] = {}
    begun: Counter[int] = Counter()
    for kind, _, payload in _chunks(data):
        if kind == ChunkKind.CATALOG:
            names.update(_names(payload))
        elif kind == ChunkKind.EVENTS:
            begun.update(_begun(payload))
    return Counter({names[number]: count for number, count in begun.items()})


@dataclass(frozen=True)
class AbsentGap:
    """A gap between two records of a thread in which it was off the CPU, in ticks."""

    stream: int
    ticks: int
    blocked: int
    queued: int
    helped: int


def absent_gaps(path: Path) -> list[AbsentGap]:
    """Every gap of which the recorder wrote that the thread was off the CPU."""
    return [
        AbsentGap(stream, ticks, *(number - 1 for number in numbers[1:]))
        for chunk_kind, stream, payload in _chunks(path.read_bytes())
        if chunk_kind == ChunkKind.EVENTS
        for kind, ticks, numbers in _records(payload)
        if kind == RecordKind.OTHER and numbers[0] == OtherTag.ABSENT
    ]


def chunks_in(data: bytes) -> Iterator[tuple[int, ChunkHeader]]:
    """Where each chunk of a process file begins, and its header."""
    at = FILE_HEADER_BYTES
    while at < len(data):
        header = from_numbers(ChunkHeader, iter(CHUNK_HEADER.unpack_from(data, at)))
        if header.magic != CHUNK_MAGIC:
            return
        yield at, header
        at += header.chunk_bytes


def _chunks(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    for at, header in chunks_in(data):
        yield header.kind, header.stream, data[at + header.payload_offset : at + header.chunk_bytes]


def _names(payload: bytes) -> Iterator[tuple[int, str]]:
    at = 0
    while at + WORD <= len(payload) and (word := int.from_bytes(payload[at : at + WORD], "little")):
        if word & 0xFF == EntryType.NAME:
            number, _, _, length = NAME_ENTRY.unpack_from(payload, at + WORD)
            start = at + WORD + NAME_ENTRY.size
            yield number, payload[start : start + length].decode()
        at += word >> 8


def _begun(payload: bytes) -> Iterator[int]:
    begun, expected = 0, dict[int, int]()
    for kind, _, numbers in _records(payload):
        if kind in (RecordKind.BEGIN, RecordKind.EXPECTED):
            place = begun % EXPECTED_NAMES
            begun = expected[place] = numbers[0] if numbers else expected[place]
            yield begun


def _records(payload: bytes) -> Iterator[tuple[int, int, list[int]]]:
    """Of each record its kind, the ticks since the one before it, and the numbers behind them."""
    at = 0
    while at < len(payload) and payload[at]:
        word, at = decode_varint(payload, at)
        numbers = []
        if word & 3 in (RecordKind.BEGIN, RecordKind.OTHER):
            number, at = decode_varint(payload, at)
            numbers.append(number)
        if word & 3 == RecordKind.OTHER:
            for _ in range(len(OtherTag(numbers[0]).numbers)):
                number, at = decode_varint(payload, at)
                numbers.append(number)
        yield word & 3, word >> 2, numbers
