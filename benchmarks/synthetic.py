"""This file makes traces of any size whose calls look like those of recorded training, and whose sums are known.

A thread runs operations one after the other, each of which makes 40 crossings; what lies between crossings, and how
long they take, follows quantiles measured on Stable-Baselines3's PPO. An operation always calls the same functions in
the same order, as training does. One stretch of trace, the tile, is encoded; the trace repeats it with later times, so
that 1e8 events take seconds to write and never lie in memory.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import trace_entries
from benchmarks.trace_chunk import Chunk
from benchmarks.trace_writer import ProcessWriter, TraceWriter
from rlscope.model import TRAINING_LOOP, Category, DeviceWork, NameKind
from rlscope.trace import format as fmt
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.manifest import write_manifest

CROSSINGS = 40  # per operation
EVENTS_PER_OPERATION = CROSSINGS + 1
RECORDS_PER_OPERATION = 2 * EVENTS_PER_OPERATION

# PPO on Walker2d-v5: 180,000 crossings a second. Measured are the four inner quantiles, the outer two bound the tails.
QUANTILES = (0.0, 0.1, 0.5, 0.9, 0.99, 1.0)
GAP_NS = (30, 70, 381, 4_016, 46_962, 250_000)
DURATION_NS = (80, 160, 1_582, 3_435, 79_272, 400_000)
BACKEND_FUNCTIONS = 73
SIMULATOR_FUNCTIONS = 4

# The time-stamp counter of a 2.6 GHz processor, shifted as the recorder does: a tick is 160/13 ns.
TICK_SHIFT = 5
TICKS_PER_13 = 160

TILE_EVENTS = 1_000_000
CHUNK_PAYLOAD_BYTES = (1 << 20) - 4096

KERNEL_STREAM = 1 << 16
KERNEL_SHARE = 0.3


@dataclass(frozen=True)
class Shape:
    """This is what a process of the trace looks like.

    Attributes:
        threads: that run at once.
        operations: distinct names; the first three are the stages.
        turn: operations that a thread runs before the next has its turn, as under the interpreter's lock, which is
            handed on every 5 ms. None: all threads run at the same time, so their records alternate call by call, which
            is the worst case for a merge.
        kernels: that a device runs per operation, evenly spaced, for KERNEL_SHARE of the time.
    """

    threads: int = 1
    operations: int = 3
    turn: int | None = 30
    kernels: int = 0


@dataclass(frozen=True)
class Expected:
    """This is what an analysis of the trace must find.

    Attributes:
        events: begun, all processes together.
        crossings: by category label.
        boundary_ticks: ticks inside crossings, by category label, each thread by itself.
        wall_ticks: from start to end of one process.
        file_bytes: all process files together.
        busy_ticks: of the device, in one process.
    """

    events: int
    crossings: dict[str, int]
    boundary_ticks: dict[str, int]
    wall_ticks: int
    file_bytes: int
    busy_ticks: int


@dataclass(frozen=True)
class _Tile:
    """The chunks of one stretch; times and sequences are those of the first tile."""

    chunks: list[Chunk]
    ticks: int
    events: int
    crossings: Counter[str]
    boundary_ticks: Counter[str]


def write_trace(directory: Path, events: int, shape: Shape = Shape(), processes: int = 1, seed: int = 0) -> Expected:
    """Write a trace of about `events` events, a whole number of operations per thread, into a new directory.

    Returns:
        The exact number of events, and what else is known of them.
    """
    directory.mkdir(parents=True)
    found = [_write_process(directory, pid, events // processes, shape, seed) for pid in range(1, processes + 1)]
    write_manifest(directory, {"complete": True, "main_pid": 1})
    return Expected(
        events=sum(expected.events for expected in found),
        crossings=dict(sum((Counter(expected.crossings) for expected in found), Counter())),
        boundary_ticks=dict(sum((Counter(expected.boundary_ticks) for expected in found), Counter())),
        wall_ticks=found[0].wall_ticks,
        file_bytes=sum(expected.file_bytes for expected in found),
        busy_ticks=found[0].busy_ticks,
    )


def _write_process(directory: Path, pid: int, events: int, shape: Shape, seed: int) -> Expected:
    process = TraceWriter(directory).process(pid=pid)
    main_operation = process.name_id(NameKind.OPERATION, Category.PYTHON, TRAINING_LOOP)
    functions, categories = _functions(process)
    operations = [process.name_id(NameKind.OPERATION, Category.PYTHON, name) for name in _operation_names(shape)]
    # Every name occurs in a tile, and a tile is no larger than the trace.
    wanted = max(min(events, TILE_EVENTS), shape.operations * EVENTS_PER_OPERATION)
    tile = _make_tile(np.random.default_rng(seed), wanted, shape, main_operation, functions, categories, operations)
    repeats = max(1, round(events / tile.events))

    wall_ticks = repeats * tile.ticks + 2  # one at either end, for the training loop
    busy_ticks = _run_kernels(process, wall_ticks, shape.kernels * repeats * tile.events // EVENTS_PER_OPERATION)
    process.stop(wall_ticks)
    pairs = [fmt.ClockPair(ticks, _ns(ticks), _ns(ticks)) for ticks in (0, wall_ticks)]
    process.header = replace(
        process.header, clock=fmt.ClockKind.TSC, tick_shift=TICK_SHIFT, first_pair=pairs[0], last_pair=pairs[1]
    )
    path = directory / f"{pid}-0{PROCESS_FILE_SUFFIX}"
    with path.open("wb") as file:
        file.write(process.to_bytes())
        for part in _event_chunks(tile, repeats, main_operation, wall_ticks):
            file.write(part)
        chunks = sum(chunk.is_closed for chunk in process.chunks) + repeats * len(tile.chunks) + 2
        process.header = replace(process.header, file_bytes=file.tell(), chunks=chunks)
        file.seek(0)
        file.write(process.header.pack())
    return Expected(
        events=repeats * tile.events + 1,
        crossings={label: count * repeats for label, count in tile.crossings.items()},
        boundary_ticks={label: ticks * repeats for label, ticks in tile.boundary_ticks.items()},
        wall_ticks=wall_ticks,
        file_bytes=path.stat().st_size,
        busy_ticks=busy_ticks,
    )


def _run_kernels(process: ProcessWriter, wall_ticks: int, kernels: int) -> int:
    """Write the device's work; return for how long it worked."""
    if kernels == 0:
        return 0
    queue = process.queue(device=0, stream=KERNEL_STREAM)
    launch_site = process.launch_site("inference", "inference")
    length = int(wall_ticks / kernels * KERNEL_SHARE)
    for number in range(kernels):
        start = 1 + wall_ticks * number // kernels  # in the training loop
        queue.record(DeviceWork.KERNEL, start, start + length, "gemm", launch_site)
    return kernels * length


def _functions(process: ProcessWriter) -> tuple[list[int], list[Category]]:
    categories = [Category.SIMULATOR] * SIMULATOR_FUNCTIONS + [Category.BACKEND] * BACKEND_FUNCTIONS
    ids = [
        process.name_id(NameKind.BOUNDARY, category, f"{category.label}.function_{number}")
        for number, category in enumerate(categories)
    ]
    return ids, categories


def _operation_names(shape: Shape) -> list[str]:
    stages = ["simulation", "inference", "backpropagation"]
    return [*stages, *(f"operation_{number}" for number in range(3, shape.operations))][: shape.operations]


def _ns(ticks: int) -> int:
    return ticks * TICKS_PER_13 // 13


def _make_tile(
    generator: np.random.Generator, events: int, shape: Shape, main_operation: int,
    functions: list[int], categories: list[Category], operations: list[int],
) -> _Tile:  # fmt: skip
    rows = max(1, round(events / EVENTS_PER_OPERATION / shape.threads))
    turn = min(shape.turn or rows, rows)
    rows -= rows % turn
    # A few functions make most of the calls.
    weights = np.cumsum(1 / np.arange(1, len(functions) + 1))
    by_rank = np.argsort(generator.random(len(functions)))
    drawn = generator.random((shape.operations, CROSSINGS)) * weights[-1]
    called = by_rank[np.searchsorted(weights, drawn)]  # per operation: indices of functions, in the order of calls

    names = [_order(generator, rows, shape.operations) for _ in range(shape.threads)]
    deltas = [_deltas(generator, rows) for _ in range(shape.threads)]
    ticks = _take_turns(deltas, turn) if shape.turn else max(int(delta.sum()) for delta in deltas)
    ticks += 1  # no record of the next tile at the tick of one in this
    crossings: Counter[str] = Counter()
    boundary_ticks: Counter[str] = Counter()
    chunks: list[Chunk] = []
    for stream in range(shape.threads):
        of_calls = np.array(categories)[called[names[stream]]]
        durations = deltas[stream][:, 2:-1:2]
        for category in (Category.SIMULATOR, Category.BACKEND):
            crossings[category.label] += int((of_calls == category).sum())
            boundary_ticks[category.label] += int(durations[of_calls == category].sum())
        ids = np.zeros(deltas[stream].shape, np.int64)
        ids[:, 0] = np.array(operations)[names[stream]]
        ids[:, 1:-1:2] = np.array(functions)[called[names[stream]]]
        outer = (main_operation,) if stream == 0 else ()
        chunks += _encode(stream, deltas[stream].ravel(), ids.ravel(), outer)
    return _Tile(chunks, ticks, rows * shape.threads * EVENTS_PER_OPERATION, crossings, boundary_ticks)


def _order(generator: np.random.Generator, rows: int, operations: int) -> Any:
    """Return which operation comes when: all equally often, in random order."""
    return (np.arange(rows) % operations)[np.argsort(generator.random(rows))]


def _deltas(generator: np.random.Generator, rows: int) -> Any:
    """Return the ticks before each record; a row is an operation: its begin, begin and end of each crossing, its
    end.
    """
    deltas = _sample(generator, GAP_NS, (rows, RECORDS_PER_OPERATION))
    deltas[:, 2:-1:2] = _sample(generator, DURATION_NS, (rows, CROSSINGS))
    return deltas


def _sample(generator: np.random.Generator, quantiles_ns: tuple[int, ...], shape: tuple[int, int]) -> Any:
    """Return ticks with these quantiles, log-linear between them."""
    logarithms = np.interp(generator.random(shape), QUANTILES, np.log(quantiles_ns))
    return (np.exp(logarithms) * 13 / TICKS_PER_13).astype(np.int64)


def _take_turns(deltas: list[Any], turn: int) -> int:
    """Let each thread wait before each of its turns while the others have theirs. Return the ticks of all turns."""
    turns = len(deltas[0]) // turn
    lengths = np.array([delta.reshape(turns, -1).sum(axis=1) for delta in deltas])  # thread x turn
    ends = np.cumsum(lengths.T.ravel()).reshape(turns, len(deltas)).T
    starts = ends - lengths
    for delta, start, end in zip(deltas, starts, ends, strict=True):
        delta[::turn, 0] += start - np.concatenate(([0], end[:-1]))
    return int(ends[-1, -1])


def _encode(stream: int, deltas: Any, ids: Any, outer: tuple[int, ...]) -> Iterator[Chunk]:
    kinds = np.where(ids > 0, int(fmt.RecordKind.BEGIN), int(fmt.RecordKind.END))
    tails, tail_bytes = _varints(np.maximum(ids, 1))
    tail_bytes[ids == 0] = 0
    # As if every name were written: which one is expected depends on where a chunk begins.
    ends = np.cumsum(_varints(deltas << 2 | kinds)[1] + tail_bytes)
    times = np.cumsum(deltas)
    first, sequence = 0, 0
    while first < len(ids):
        done = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, done + CHUNK_PAYLOAD_BYTES, side="right"))
        part = slice(first, last)
        expected = _are_expected(ids[part]) & (deltas[part] > 0)
        kinds[part][expected] = int(fmt.RecordKind.EXPECTED)
        tail_bytes[part][expected] = 0
        heads, head_bytes = _varints(deltas[part] << 2 | kinds[part])
        sizes = head_bytes + tail_bytes[part]
        assert sizes.max() <= 8, "a begin record is one word here"
        words = (heads | tails[part] << (8 * head_bytes).astype(np.uint64)).astype("<u8")
        payload = words.view(np.uint8).reshape(-1, 8)[np.arange(8) < sizes[:, None]].tobytes()
        base = int(times[first - 1]) if first else 0
        yield _chunk(stream, sequence, base, outer + _open_frames(ids, first), payload)
        first, sequence = last, sequence + 1


def _are_expected(ids: Any) -> Any:
    """Return which records of a chunk begin the name that was begun last time behind the one before it."""
    (begins,) = np.nonzero(ids)
    begun = ids[begins]
    places = np.concatenate(([0], begun[:-1])) % fmt.EXPECTED_NAMES
    order = np.argsort(places, kind="stable")  # so that a place's begins are neighbours
    same = (places[order][1:] == places[order][:-1]) & (begun[order][1:] == begun[order][:-1])
    expected = np.zeros(len(ids), dtype=bool)
    expected[begins[order[1:][same]]] = True
    return expected


def _open_frames(ids: Any, record: int) -> tuple[int, ...]:
    """Return the operation and the crossing that are open before a record."""
    row, column = divmod(record, RECORDS_PER_OPERATION)
    frames = () if column == 0 else (int(ids[row * RECORDS_PER_OPERATION]),)
    in_crossing = column not in (0, RECORDS_PER_OPERATION - 1) and column % 2 == 0
    return (*frames, int(ids[record - 1])) if in_crossing else frames


def _varints(values: Any) -> tuple[Any, Any]:
    """Return prefix varints as words, and how many bytes of each are used."""
    limits = np.array([1 << bits for bits in range(7, 50, 7)])
    sizes = np.searchsorted(limits, values, side="right") + 1
    shifts = sizes.astype(np.uint64)
    one = np.uint64(1)
    return values.astype(np.uint64) << shifts | ((one << (shifts - one)) - one), sizes


def _event_chunks(tile: _Tile, repeats: int, main_operation: int, wall_ticks: int) -> Iterator[bytes]:
    """Yield the chunks as they lie in the file. The main thread has one more at either end, for the training loop."""
    per_stream = Counter(chunk.stream for chunk in tile.chunks)
    begin = trace_entries.encode_varint(1 << 2 | fmt.RecordKind.BEGIN) + trace_entries.encode_varint(main_operation)
    yield _chunk(0, 0, 0, (), begin).to_bytes()
    for repeat in range(repeats):
        for chunk in tile.chunks:
            sequence = chunk.sequence + repeat * per_stream[chunk.stream] + (1 if chunk.stream == 0 else 0)
            base_ticks = chunk.base_ticks + 1 + repeat * tile.ticks
            yield replace(chunk, sequence=sequence, base_ticks=base_ticks).to_bytes()
    end = trace_entries.encode_varint(1 << 2 | fmt.RecordKind.END)
    yield _chunk(0, 1 + repeats * per_stream[0], wall_ticks - 1, (main_operation,), end).to_bytes()


def _chunk(stream: int, sequence: int, base_ticks: int, frames: tuple[int, ...], payload: bytes) -> Chunk:
    return Chunk(
        fmt.ChunkKind.EVENTS, stream, sequence, base_ticks, thread_id=stream + 1, open_frames=frames,
        payload=bytearray(payload), is_closed=True,
    )  # fmt: skip
