"""Damaged process files: named when read as they are, stepped over with `recover`, never a crash."""

import re
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from calls import chunks_in
from hypothesis import given, settings
from hypothesis import strategies as st
from recording import record

from benchmarks import trace_entries
from benchmarks.trace_writer import ProcessWriter, TraceWriter
from rlscope import _analysis
from rlscope._analysis import bytes_read, sweep
from rlscope.analysis.swept import Swept
from rlscope.errors import TraceFormatError
from rlscope.model import Category, DeviceWork
from rlscope.trace import format as fmt

CHUNKS = 5
BLOCK = 512  # of a disk


def sample(is_killed: bool = False) -> ProcessWriter:
    """Two threads and a device's queue, five chunks each; in thread 0 each holds 8 ticks of backend time."""
    process = TraceWriter(Path()).process(start_ticks=0)
    process.properties({"process_name": "sample"})
    main, other, queue = process.thread(), process.thread(), process.queue(0)
    main.begin_operation(0, "step")
    for chunk in range(CHUNKS):
        if chunk:
            main.new_chunk(switch_ticks=1)
            other.new_chunk()
            queue.new_chunk()
        main.begin_boundary(10 * chunk + 1, Category.BACKEND, "f")
        main.progress(10 * chunk + 2, chunk)
        main.end(10 * chunk + 9)
        other.boundary(10 * chunk + 3, 10 * chunk + 4, Category.WAIT, "get")
        queue.record(DeviceWork.KERNEL, 10 * chunk + 2, 10 * chunk + 5, "gemm", process.launch_site("step"))
        queue.record(DeviceWork.COPY, 10 * chunk + 3, 10 * chunk + 9, "memcpy HtoD", work_bytes=chunk)
    main.end(50)
    if not is_killed:
        process.stop(50)
    return process


@cache
def sample_bytes(is_killed: bool = False) -> bytes:
    return sample(is_killed).to_bytes()


def chunk_offset(data: bytes, kind: fmt.ChunkKind, stream: int, sequence: int) -> int:
    place = (kind, stream, sequence)
    (offset,) = (at for at, head in chunks_in(data) if (head.kind, head.stream, head.sequence) == place)
    return offset


def sweep_bytes(data: bytes, directory: Path, recover: bool = False, decodes_ahead: bool = False) -> Swept:
    path = directory / "1-0.rlscope"
    path.write_bytes(data)
    return sweep(path, recover=recover, decodes_ahead=decodes_ahead)


def patched(data: bytes, offset: int, patch: bytes) -> bytes:
    return data[:offset] + patch + data[offset + len(patch) :]


def summed_anew(data: bytes, offset: int) -> bytes:
    """With the checksum that the chunk there should have."""
    fields = trace_entries.CHUNK_HEADER.unpack_from(data, offset)
    chunk = patched(data[offset : offset + fields[4] + fields[5]], 20, bytes(4))
    return patched(data, offset + 20, struct.pack("<I", _analysis.crc32c(chunk)))


def seconds_of(found: Swept, category: str) -> int:
    return sum(row.ticks for row in found.breakdown if row.category == category)


def test_whole_file(tmp_path: Path) -> None:
    found = sweep_bytes(sample_bytes(), tmp_path)
    assert (found.complete, seconds_of(found, "backend"), found.chunk_change_ticks) == (True, 40, 4)


def test_checksum_of_one_chunk(tmp_path: Path) -> None:
    """The damaged chunk contributes nothing; the next one says what is open."""
    offset = chunk_offset(sample_bytes(), fmt.ChunkKind.EVENTS, 0, 2)
    payload_offset = trace_entries.CHUNK_HEADER.unpack_from(sample_bytes(), offset)[4]
    data = patched(sample_bytes(), offset + payload_offset, b"\x16")
    with pytest.raises(TraceFormatError, match=rf"1-0\.rlscope is damaged at byte {offset}: the checksum .*--recover"):
        sweep_bytes(data, tmp_path)
    found = sweep_bytes(data, tmp_path, recover=True)
    assert seconds_of(found, "backend") == 32
    assert found.events["operation"] == 1
    assert len(found.why) == 1 and f"byte {offset}" in found.why[0]
    assert not found.complete


def test_reading_says_how_far_it_has_come_in_the_file(tmp_path: Path) -> None:
    offset = chunk_offset(sample_bytes(), fmt.ChunkKind.EVENTS, 0, 2)
    payload_offset = trace_entries.CHUNK_HEADER.unpack_from(sample_bytes(), offset)[4]
    before = bytes_read()
    sweep_bytes(sample_bytes(), tmp_path)
    whole = bytes_read() - before
    with pytest.raises(TraceFormatError):
        sweep_bytes(patched(sample_bytes(), offset + payload_offset, b"\x16"), tmp_path)
    assert whole < len(sample_bytes())
    assert whole / 3 < bytes_read() - before - whole < whole


def test_missing_chunk_is_damage(tmp_path: Path) -> None:
    for is_killed, what in (
        (True, "chunk 3 of thread 0 was expected, chunk 4 was found"),
        (False, "damaged at byte 4096: 16 chunks were expected, 15 were found"),
    ):
        sound = sample_bytes(is_killed)
        offset = chunk_offset(sound, fmt.ChunkKind.EVENTS, 0, 3)
        data = patched(sound, offset + 4, struct.pack("<H", fmt.ChunkKind.FREE))
        with pytest.raises(TraceFormatError, match=what):
            sweep_bytes(data, tmp_path)
        assert seconds_of(sweep_bytes(data, tmp_path, recover=True), "backend") == 32


def test_killed_process_loses_nothing_and_a_later_cut_is_clean(tmp_path: Path) -> None:
    found = sweep_bytes(sample_bytes(is_killed=True), tmp_path)
    assert (seconds_of(found, "backend"), found.end_ticks, found.complete) == (40, 50, False)
    assert found.why == ("recording did not end in an orderly way: the process was killed or is still running",)


@pytest.mark.parametrize(
    ("payload", "what"),
    [
        (trace_entries.encode_varint(1 << 2 | fmt.RecordKind.END), "an end with nothing open"),
        (
            trace_entries.encode_varint(1 << 2 | fmt.RecordKind.BEGIN) + trace_entries.encode_varint(99),
            "the name with id 99 is not in the",
        ),
        (trace_entries.encode_varint(1 << 2 | fmt.RecordKind.EXPECTED), "the name with id 0 is not in the"),
        (b"\xff" * 9, "no record starts with byte 0xff"),
        (
            trace_entries.encode_varint(1 << 2 | fmt.RecordKind.OTHER) + trace_entries.encode_varint(99) * 4,
            "no record starts with",
        ),
        (trace_entries.encode_varint(1 << 40 | fmt.RecordKind.BEGIN)[:-1], "no record starts with"),
        (b"\0\0", "no record starts with byte 0x00"),
    ],
)
def test_records_that_cannot_be(payload: bytes, what: str, tmp_path: Path) -> None:
    process = TraceWriter(Path()).process()
    thread = process.thread()
    process.chunks[-1].payload += payload
    thread.new_chunk()
    thread.operation(20, 30, "step")
    process.stop(30)
    with pytest.raises(TraceFormatError, match=what):
        sweep_bytes(process.to_bytes(), tmp_path)
    found = sweep_bytes(process.to_bytes(), tmp_path, recover=True)
    assert [(row.operation, row.category, row.ticks) for row in found.breakdown] == [
        ("(none)", "python", 20), ("step", "python", 10),
    ]  # fmt: skip


def test_chunk_that_does_not_go_on(tmp_path: Path) -> None:
    offset = chunk_offset(sample_bytes(), fmt.ChunkKind.EVENTS, 0, 2)
    data = summed_anew(patched(sample_bytes(), offset + 64, struct.pack("<I", 2)), offset)
    with pytest.raises(TraceFormatError, match="does not go on where thread 0 was"):
        sweep_bytes(data, tmp_path)
    assert sweep_bytes(data, tmp_path, recover=True).end_ticks == 50


def test_lost_name(tmp_path: Path) -> None:
    offset = chunk_offset(sample_bytes(), fmt.ChunkKind.CATALOG, fmt.NO_STREAM, 0)
    where = sample_bytes().index(b"step")
    data = patched(sample_bytes(), where, b"\xff\xfe")
    with pytest.raises(TraceFormatError, match=rf"byte {offset}: the checksum of the catalog"):
        sweep_bytes(data, tmp_path)
    found = sweep_bytes(data, tmp_path, recover=True)
    assert {row[2] for row in found.breakdown} == {"\ufffd\ufffdep"}


def test_properties_that_are_no_json(tmp_path: Path) -> None:
    process = TraceWriter(Path()).process()
    process.properties({"a": 1, "b": 1})
    process.properties({"b": 2})
    process._add_entry(fmt.EntryType.PROPERTIES, struct.pack("<I", 3) + b"[1]")
    process._add_entry(fmt.EntryType.PROPERTIES, struct.pack("<I", 2) + b"{'")
    process.stop(1)
    found = sweep_bytes(process.to_bytes(), tmp_path)
    assert found.properties == {"a": 1, "b": 2}
    assert ["not a JSON object" in reason for reason in found.why] == [True, True]


def test_lost_records_and_reasons(tmp_path: Path) -> None:
    process = sample()
    process.header = replace(process.header, dropped_records=3, end_reason=fmt.EndReason.FAILED, stop_errno=28)
    found = sweep_bytes(process.to_bytes(), tmp_path)
    assert found.why == (
        "the trace could not be written to its end: No space left on device",
        "3 records were dropped",
    )


@pytest.mark.parametrize("data", [b"", b"RLSCOPE\0", b"x" * 5000, sample_bytes()[:200], sample_bytes()[:4095]])
def test_no_header(data: bytes, tmp_path: Path) -> None:
    for recover in (False, True):
        with pytest.raises(TraceFormatError, match=r"1-0\.rlscope"):
            sweep_bytes(data, tmp_path, recover)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sweep(tmp_path / "missing.rlscope")


INTERESTING = [
    fmt.FILE_HEADER_BYTES,
    *(chunk_offset(sample_bytes(), fmt.ChunkKind.EVENTS, stream, n) for stream in (0, 1) for n in range(CHUNKS)),
    *(chunk_offset(sample_bytes(), fmt.ChunkKind.DEVICE, 2, n) for n in range(CHUNKS)),
]


@given(
    is_killed=st.booleans(),
    edits=st.lists(
        st.tuples(st.sampled_from(INTERESTING), st.integers(0, 120), st.binary(min_size=1, max_size=9)), max_size=4
    ),
    header_edit=st.tuples(st.integers(0, fmt.FILE_HEADER.size - 1), st.binary(max_size=4)),
    cut=st.one_of(st.none(), st.integers(0, len(sample_bytes()))),
)
@settings(max_examples=400, deadline=None)
def test_any_bytes(is_killed, edits, header_edit, cut) -> None:  # type: ignore[no-untyped-def]
    """Whatever is in the file: an error or a result whose rows sum to the wall time, decoded ahead or not."""
    data = sample_bytes(is_killed)
    for base, offset, patch in edits:
        data = patched(data, base + offset, patch)
    data = patched(data, *header_edit)[:cut]
    with TemporaryDirectory() as directory:
        for recover in (False, True):
            try:
                found = sweep_bytes(data, Path(directory), recover)
            except TraceFormatError as error:
                assert "1-0.rlscope" in str(error)
                with pytest.raises(TraceFormatError) as of_decoded_ahead:
                    sweep_bytes(data, Path(directory), recover, decodes_ahead=True)
                assert str(of_decoded_ahead.value) == str(error)
                continue
            assert sweep_bytes(data, Path(directory), recover, decodes_ahead=True) == found
            assert sum(row[-1] for row in found.breakdown) == found.end_ticks - found.start_ticks
            for device in found.devices:
                of_launches = [row[3] for row in found.device_operations if row[0] == device.device]
                assert sum(of_launches) == device.busy_ticks


def recorded_bytes(place: Path) -> bytes:
    """A file of the recorder itself: of a process of its own, since this one has the names of all tests before."""
    recording = record(place / "trace", "two_streams.py", options=("--no-auto",))
    (file,) = recording.files
    return file.read_bytes()


def is_complete_and_silent(data: bytes, directory: Path) -> bool:
    try:
        found = sweep_bytes(data, directory)
    except TraceFormatError as error:
        assert re.search(
            r"1-0\.rlscope (is damaged at byte \d+: |has format version|is not a process file)", str(error)
        )
        return False
    return bool(found.complete)


def blocks_in_free_space(data: bytes) -> set[int]:
    """Those that begin behind the header of a free chunk: what was there before a chunk was moved is nobody's."""
    free = [(at, header.chunk_bytes) for at, header in chunks_in(data) if header.kind == fmt.ChunkKind.FREE]
    return {
        block
        for at, size in free
        for block in range(0, at + size, BLOCK)
        if block >= at + trace_entries.CHUNK_HEADER.size
    }


@pytest.mark.parametrize("is_recorded", [False, True], ids=["written", "recorded"])
def test_a_finished_file_that_lost_a_block_is_damaged(is_recorded: bool, tmp_path: Path) -> None:
    """Cut at any block, or with zeroes in its place: without --recover an error, with it never complete."""
    data = recorded_bytes(tmp_path) if is_recorded else sample_bytes()
    blocks = range(fmt.FILE_HEADER_BYTES, len(data), BLOCK)
    whole = sweep_bytes(data, tmp_path)
    assert whole.complete and len(blocks) >= 4
    block_of_zeroes, free = bytes(BLOCK), blocks_in_free_space(data)
    for at in blocks:
        lost = [data[:at]]
        if any(data[at:]):
            lost.append(patched(data, at, bytes(len(data) - at)))
        if at not in free and any(data[at : at + BLOCK]):
            lost.append(patched(data, at, block_of_zeroes[: len(data) - at]))
        for damaged in (*lost, data[:at] + block_of_zeroes + data[at:], data + block_of_zeroes):
            assert not is_complete_and_silent(damaged, tmp_path), at
            found = sweep_bytes(damaged, tmp_path, recover=True)
            assert not found.complete
            assert any(re.search(r"1-0\.rlscope is damaged at byte \d+: ", reason) for reason in found.why)


def test_a_finished_header_with_any_flipped_bit_is_damaged(tmp_path: Path) -> None:
    data = sample_bytes()
    for offset in range(fmt.FILE_HEADER.size):
        for bit in range(8):
            flipped = patched(data, offset, bytes([data[offset] ^ 1 << bit]))
            assert not is_complete_and_silent(flipped, tmp_path), (offset, bit)


def test_the_last_chunk_of_a_thread_turned_into_free_space_is_missed(tmp_path: Path) -> None:
    offset = chunk_offset(sample_bytes(), fmt.ChunkKind.EVENTS, 1, CHUNKS - 1)
    data = patched(sample_bytes(), offset + 4, struct.pack("<H", fmt.ChunkKind.FREE))
    with pytest.raises(TraceFormatError, match="16 chunks were expected, 15 were found"):
        sweep_bytes(data, tmp_path)


def test_a_stop_that_is_not_the_last_reading_of_the_clock(tmp_path: Path) -> None:
    process = sample()
    process.header = replace(process.header, last_pair=fmt.ClockPair(60, 60, 60))
    with pytest.raises(TraceFormatError, match=r"damaged at byte 40: recording stopped at 50, but .* last read at 60"):
        sweep_bytes(process.to_bytes(), tmp_path)
    found = sweep_bytes(process.to_bytes(), tmp_path, recover=True)
    assert (found.end_ticks, found.complete) == (50, False)


def test_a_file_of_version_3_is_read_as_before(tmp_path: Path) -> None:
    """It knows no synchronisation."""
    process = sample()
    process.header = replace(process.header, format_version=3)
    assert sweep_bytes(process.to_bytes(), tmp_path) == sweep_bytes(sample_bytes(), tmp_path)


def test_a_file_of_version_2_is_read_as_before(tmp_path: Path) -> None:
    """It says neither how long it is nor what its checksum is."""
    process = sample()
    process.header = replace(process.header, format_version=2)
    data = process.to_bytes()
    assert not any(data[60:64]) and not any(data[160:176])
    assert sweep_bytes(data, tmp_path) == sweep_bytes(sample_bytes(), tmp_path)
    offset = chunk_offset(data, fmt.ChunkKind.EVENTS, 0, 2)
    with pytest.raises(TraceFormatError, match=f"damaged at byte {offset}: a chunk"):
        sweep_bytes(patched(data, offset, bytes(fmt.CHUNK_ALIGNMENT)), tmp_path)
