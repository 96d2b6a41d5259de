"""The Python side of the bytes: what it packs it reads again, and so does the C++ reader."""

from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import trace_entries
from benchmarks.trace_writer import TraceWriter
from rlscope import _analysis
from rlscope.errors import TraceFormatError
from rlscope.trace import format as fmt
from rlscope.trace.reader import open_trace
from rlscope.version import FORMAT_VERSION

#: Set when a file is written: what it holds, and sums.
SUMMED = {"file_bytes", "chunks", "header_crc32c"}

HEADER = fmt.FileHeader(
    clock=fmt.ClockKind.TSC, tick_shift=4, pid=7, parent_pid=6, start_ticks=1_000, stop_ticks=2_000, file_bytes=4096,
    end_reason=fmt.EndReason.EXIT, stop_errno=28, exit_status=-3, dropped_records=5, misnested_operations=9,
    dropped_device_records=11, unresolved_launches=13, boot_id=bytes(range(16)),
    first_pair=fmt.ClockPair(1, 2, 3), last_pair=fmt.ClockPair(2_000, 5, 6),
)  # fmt: skip


def test_header_round_trip_in_python() -> None:
    assert fmt.FileHeader.unpack(HEADER.pack()) == HEADER
    assert HEADER.format_version == FORMAT_VERSION


def test_header_is_understood_by_the_core(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    writer.process().header = HEADER
    path = next(writer.write().glob("*.rlscope"))
    (process,) = open_trace(tmp_path).processes
    assert fmt.FileHeader.unpack(_analysis.header(path)) == process.header
    told = asdict(process.header)
    assert {name: value for name, value in told.items() if name not in SUMMED} == {
        name: value for name, value in asdict(HEADER).items() if name not in SUMMED
    }


@pytest.mark.parametrize("data", [b"", b"RLSCOPE", b"ELF" + bytes(200), bytes(200)])
def test_header_of_something_else(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(data)
    with pytest.raises(TraceFormatError, match="is not a process file: it does not start with RLSCOPE"):
        _analysis.header(tmp_path / "other")


@given(st.integers(1, trace_entries.MAX_VARINT_VALUE))
def test_varint_round_trip(value: int) -> None:
    coded = trace_entries.encode_varint(value)
    assert trace_entries.decode_varint(coded + b"\xff", 0) == (value, len(coded))
    assert coded[0] != 0
    assert coded[-1] != 0


@pytest.mark.parametrize(
    ("value", "coded"), [(1, "02"), (127, "fe"), (128, "0102"), (16383, "fdff"), (16384, "030002")]
)
def test_varint_bytes(value: int, coded: str) -> None:
    assert trace_entries.encode_varint(value).hex() == coded


@pytest.mark.parametrize("value", [0, -1, trace_entries.MAX_VARINT_VALUE + 1])
def test_varint_range(value: int) -> None:
    with pytest.raises(ValueError, match="a varint holds"):
        trace_entries.encode_varint(value)


@pytest.mark.parametrize(
    ("data", "crc"),
    [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)],
)
def test_crc32c_vectors(data: bytes, crc: int) -> None:
    """From RFC 3720, appendix B.4, and the catalogue's check value."""
    assert _analysis.crc32c(data) == crc
    assert _analysis.crc32c(data[4:], _analysis.crc32c(data[:4])) == crc
