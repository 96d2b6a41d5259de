"""One flipped bit in a finished file: it is refused, or nothing that anybody reads from the file is another."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from recording import record

from rlscope import _analysis
from rlscope.errors import TraceFormatError
from rlscope.trace import format as fmt

#: Of random bits, each by itself.
FLIPS_IN_PAYLOADS = 10_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of the recorder with several threads, names, properties and stacks."""
    recording = record(tmp_path_factory.mktemp("flips") / "trace", "two_streams.py", options=("--no-auto", "--lines"))
    (file,) = recording.files
    return file.read_bytes()


def chunks(data: bytes) -> Iterator[tuple[int, fmt.ChunkHeader]]:
    at = fmt.FILE_HEADER_BYTES
    while at < len(data):
        header = fmt.from_numbers(fmt.ChunkHeader, iter(fmt.CHUNK_HEADER.unpack_from(data, at)))
        yield at, header
        at += header.chunk_bytes


class Reader:
    def __init__(self, data: bytes, directory: Path) -> None:
        self._data = bytearray(data)
        self._path = directory / "1-0.rlscope"
        self._path.write_bytes(data)
        self._whole = self._read()

    def _read(self) -> object:
        return _analysis.header(self._path), _analysis.sweep(self._path)

    def is_refused_or_the_same(self, byte: int, bit: int) -> bool:
        with self._path.open("r+b") as file:
            file.seek(byte)
            file.write(bytes([self._data[byte] ^ 1 << bit]))
            file.flush()
            try:
                is_same = self._read() == self._whole
            except TraceFormatError:
                is_same = True
            file.seek(byte)
            file.write(self._data[byte : byte + 1])
        return is_same


def test_of_a_header(data: bytes, tmp_path: Path) -> None:
    reader = Reader(data, tmp_path)
    heads = [(0, fmt.FILE_HEADER.size)] + [(at, header.payload_offset) for at, header in chunks(data)]
    assert {header.kind for _, header in chunks(data)} >= {
        fmt.ChunkKind.EVENTS,
        fmt.ChunkKind.CATALOG,
        fmt.ChunkKind.STACKS,
    }
    bits = [(at + byte, bit) for at, size in heads for byte in range(size) for bit in range(8)]
    assert [place for place in bits if not reader.is_refused_or_the_same(*place)] == []


def test_of_a_payload(data: bytes, tmp_path: Path) -> None:
    reader = Reader(data, tmp_path)
    places = [
        byte
        for at, header in chunks(data)
        for byte in range(at + header.payload_offset, at + header.payload_offset + header.payload_bytes)
    ]
    chance = random.Random(5)
    bits = [(chance.choice(places), chance.randrange(8)) for _ in range(FLIPS_IN_PAYLOADS)]
    assert [place for place in bits if not reader.is_refused_or_the_same(*place)] == []
