"""The generator of synthetic traces against the format's decoder, the sweep, the sweep's twin, and its own sums."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from calls import chunks_in
from trace_builder import Begin, End, ProcessScript, ThreadScript
from twin_sweep import as_dicts, sweep_twin

from benchmarks import synthetic, trace_entries
from benchmarks.synthetic import EVENTS_PER_OPERATION, Expected, Shape, write_trace
from rlscope import _analysis
from rlscope.analysis.analysis import analyze
from rlscope.model import Category, NameKind
from rlscope.trace import format as fmt
from rlscope.trace.reader import open_trace

SHAPES = [Shape(), Shape(operations=30), Shape(threads=3, turn=5), Shape(threads=3, turn=None), Shape(threads=16)]


def decode(path: Path) -> ProcessScript:
    """The process as a list of events, by the Python side of the format; checks every checksum."""
    data = path.read_bytes()
    header = fmt.FileHeader.unpack(data)
    names: dict[int, tuple[NameKind, Category, str]] = {}
    threads: dict[int, ThreadScript] = {}
    for at, chunk in chunks_in(data):
        assert chunk.flags == fmt.CHUNK_CLOSED
        assert chunk.chunk_bytes % fmt.CHUNK_ALIGNMENT == 0
        begin, end = at + chunk.payload_offset, at + chunk.payload_offset + chunk.payload_bytes
        summed = bytearray(data[at:end])
        summed[20:24] = bytes(4)  # where it stands itself
        assert _analysis.crc32c(summed) == chunk.crc32c
        if chunk.kind == fmt.ChunkKind.CATALOG:
            names |= decode_names(data[begin:end])
        else:
            thread = threads.setdefault(chunk.stream, ThreadScript(chunk.stream, chunk.base_ticks))
            thread.statements += decode_records(data[begin:end], chunk.base_ticks, names)
    assert at + chunk.chunk_bytes == len(data)
    return ProcessScript(header.start_ticks, header.stop_ticks, threads=list(threads.values()))


def decode_names(payload: bytes) -> dict[int, tuple[NameKind, Category, str]]:
    names, at = {}, 0
    while at < len(payload):
        size = int.from_bytes(payload[at : at + 4], "little") >> 8
        name_id, kind, category, length = trace_entries.NAME_ENTRY.unpack_from(payload, at + 4)
        text = payload[at + 4 + trace_entries.NAME_ENTRY.size :][:length].decode()
        names[name_id] = NameKind(kind), Category(category), text
        at += size
    return names


def decode_records(payload: bytes, ticks: int, names: dict[int, tuple[NameKind, Category, str]]) -> list[Begin | End]:
    records: list[Begin | End] = []
    expected: dict[int, int] = {}  # by the name that was begun before
    at = begun = 0
    while at < len(payload):
        head, at = trace_entries.decode_varint(payload, at)
        ticks += head >> 2
        if head & 3 == fmt.RecordKind.END:
            records.append(End(ticks))
            continue
        place = begun % fmt.EXPECTED_NAMES
        if head & 3 == fmt.RecordKind.BEGIN:
            expected[place], at = trace_entries.decode_varint(payload, at)
        begun = expected[place]
        kind, category, name = names[begun]
        records.append(Begin(ticks, kind, name, category))
    return records


def boundary_ticks(breakdown: dict[tuple[str, ...], int]) -> dict[str, int]:
    ticks = {"simulator": 0, "backend": 0}
    for (_, _, _, category, *_), found in breakdown.items():
        if category in ticks:
            ticks[category] += found
    return ticks


def check(directory: Path, expected: Expected) -> ProcessScript:
    """A trace of one process: complete, and what the sweep, its twin and the generator say is the same."""
    path = directory / "1-0.rlscope"
    assert analyze(open_trace(directory)).complete
    found = _analysis.sweep(path, by_thread=True)
    script = decode(path)
    assert as_dicts(found) == sweep_twin(script)
    assert found.end_ticks - found.start_ticks == expected.wall_ticks
    assert sum(found.events.values()) == expected.events
    assert {kind: found.events[kind] for kind in ("simulator", "backend")} == expected.crossings
    if len(script.threads) == 1:
        assert boundary_ticks(as_dicts(found)["breakdown"]) == expected.boundary_ticks
    assert path.stat().st_size == expected.file_bytes
    return script


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_trace_is_what_it_is_said_to_be(tmp_path: Path, shape: Shape) -> None:
    expected = write_trace(tmp_path / "trace", 12_300, shape)
    script = check(tmp_path / "trace", expected)
    assert len(script.threads) == shape.threads
    assert expected.events == pytest.approx(12_300, rel=0.1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_repeats_a_tile_that_is_cut_into_chunks(
    tmp_path: Path, shape: Shape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic, "TILE_EVENTS", 1000)
    monkeypatch.setattr(synthetic, "CHUNK_PAYLOAD_BYTES", 97)
    expected = write_trace(tmp_path / "trace", 3000, shape)
    check(tmp_path / "trace", expected)


def test_a_device_works_as_long_as_it_is_said_to(tmp_path: Path) -> None:
    expected = write_trace(tmp_path / "trace", 3000, Shape(kernels=2))
    found = _analysis.sweep(tmp_path / "trace" / "1-0.rlscope")
    (device,) = found.devices
    assert device.kernel_count == 2 * (expected.events // EVENTS_PER_OPERATION)
    assert device.busy_ticks == expected.busy_ticks
    assert found.loop is not None
    assert sum(row.idle.time for row in found.idle) == found.loop[1] - found.loop[0] - expected.busy_ticks


def test_threads_that_take_turns_do_not_run_at_the_same_time(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace", 3000, Shape(threads=3, turn=5))
    script = decode(tmp_path / "trace" / "1-0.rlscope")
    records = sorted(
        (record.ticks, thread.stream)
        for thread in script.threads
        for record in thread.statements
        if isinstance(record, Begin | End)
    )
    changes = sum(before != after for (_, before), (_, after) in pairwise(records))
    turns = 3000 // EVENTS_PER_OPERATION // 5
    assert changes <= turns + 2  # and the training loop's own records


def test_processes_share_the_events(tmp_path: Path) -> None:
    expected = write_trace(tmp_path / "trace", 4000, processes=4)
    analysis = analyze(open_trace(tmp_path / "trace"))
    assert analysis.complete
    assert len(analysis.processes.table) == 4
    assert expected.events == pytest.approx(4000, rel=0.1)


def test_the_same_seed_makes_the_same_trace(tmp_path: Path) -> None:
    contents = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_trace(tmp_path / name, 1000, seed=seed)
        contents.append((tmp_path / name / "1-0.rlscope").read_bytes())
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]


def test_gaps_have_the_stated_quantiles() -> None:
    deltas = synthetic._deltas(np.random.default_rng(0), 5000)
    gaps_ns = deltas[:, 1:-1:2] * synthetic.TICKS_PER_13 / 13
    found = np.quantile(gaps_ns, synthetic.QUANTILES[1:-1])
    assert found == pytest.approx(synthetic.GAP_NS[1:-1], rel=0.15)
