"""The Python side of the bytes: what it packs it reads again, and so does the C++ reader."""

from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.trace_writer import TraceWriter
from rlscope._analysis import sweep
from rlscope.trace import format as fmt
from rlscope.version import FORMAT_VERSION

HEADER = fmt.FileHeader(
    clock=fmt.ClockKind.TSC, tick_shift=4, pid=7, parent_pid=6, start_ticks=1_000, stop_ticks=2_000, file_bytes=4096,
    end_reason=fmt.EndReason.EXIT, stop_errno=28, exit_status=-3, dropped_records=5, misnested_operations=9,
    dropped_device_records=11, unresolved_launches=13, boot_id=bytes(range(16)),
    first_pair=fmt.ClockPair(1, 2, 3), last_pair=fmt.ClockPair(2_000, 5, 6),
)  # fmt: skip


def test_header_round_trip_in_python() -> None:
    assert fmt.FileHeader.unpack(HEADER.pack()) == HEADER
    assert fmt.read_version(HEADER.pack()) == FORMAT_VERSION


def test_header_is_understood_by_the_core(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    writer.process().header = HEADER
    found = sweep(next(writer.write().glob("*.rlscope")))
    told = vars(found).keys() & asdict(HEADER).keys()
    assert {name: getattr(found, name) for name in told} == {name: getattr(HEADER, name) for name in told}
    assert told > {"start_ticks", "dropped_records", "unresolved_launches"}


@pytest.mark.parametrize("data", [b"", b"RLSCOPE", b"ELF" + bytes(200), bytes(200)])
def test_version_of_something_else(data: bytes) -> None:
    assert fmt.read_version(data) is None


@given(st.integers(1, fmt.MAX_VARINT_VALUE))
def test_varint_round_trip(value: int) -> None:
    coded = fmt.encode_varint(value)
    assert fmt.decode_varint(coded + b"\xff", 0) == (value, len(coded))
    assert coded[0] != 0
    assert coded[-1] != 0


@pytest.mark.parametrize(
    ("value", "coded"), [(1, "02"), (127, "fe"), (128, "0102"), (16383, "fdff"), (16384, "030002")]
)
def test_varint_bytes(value: int, coded: str) -> None:
    assert fmt.encode_varint(value).hex() == coded


@pytest.mark.parametrize("value", [0, -1, fmt.MAX_VARINT_VALUE + 1])
def test_varint_range(value: int) -> None:
    with pytest.raises(ValueError, match="a varint holds"):
        fmt.encode_varint(value)


@pytest.mark.parametrize(
    ("data", "crc"),
    [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)],
)
def test_crc32c_vectors(data: bytes, crc: int) -> None:
    """From RFC 3720, appendix B.4, and the catalogue's check value."""
    assert fmt.crc32c(data) == crc
