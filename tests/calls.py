"""Counts the calls that a process file holds under their full names, by the format's description alone."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rlscope.trace.format import (
    CHUNK_HEADER,
    CHUNK_MAGIC,
    FILE_HEADER_BYTES,
    NAME_ENTRY,
    ChunkKind,
    EntryType,
    RecordKind,
    decode_varint,
)

WORD = 4


def count_calls(path: Path) -> Counter[str]:
    """How often each name was begun, with the streams that the sweep's `crossings` leave out."""
    data = path.read_bytes()
    names: dict[int, str] = {}
    begun: Counter[int] = Counter()
    for kind, payload in _chunks(data):
        if kind == ChunkKind.CATALOG:
            names.update(_names(payload))
        elif kind == ChunkKind.EVENTS:
            begun.update(_begun(payload))
    return Counter({names[number]: count for number, count in begun.items()})


def _chunks(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = FILE_HEADER_BYTES
    while at < len(data):
        magic, kind, _, size, payload_at, *_ = CHUNK_HEADER.unpack_from(data, at)
        if magic != CHUNK_MAGIC:
            return
        yield kind, data[at + payload_at : at + size]
        at += size


def _names(payload: bytes) -> Iterator[tuple[int, str]]:
    at = 0
    while at + WORD <= len(payload) and (word := int.from_bytes(payload[at : at + WORD], "little")):
        if word & 0xFF == EntryType.NAME:
            number, _, _, length = NAME_ENTRY.unpack_from(payload, at + WORD)
            start = at + WORD + NAME_ENTRY.size
            yield number, payload[start : start + length].decode()
        at += word >> 8


def _begun(payload: bytes) -> Iterator[int]:
    at = 0
    while at < len(payload) and payload[at]:
        word, at = decode_varint(payload, at)
        if word & 3 == RecordKind.BEGIN:
            number, at = decode_varint(payload, at)
            yield number
        elif word & 3 == RecordKind.OTHER:
            for _ in range(4):
                _, at = decode_varint(payload, at)
