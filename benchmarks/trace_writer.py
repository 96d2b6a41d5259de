"""This file builds whole trace directories for tests and benchmarks: it is the recorder's writer in pure Python."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import trace_entries
from benchmarks.trace_chunk import Chunk, padded
from rlscope.model import NO_OPERATION, Category, DeviceWork, NameKind
from rlscope.trace import format as fmt
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.manifest import write_manifest

DEFAULT_BOOT_ID = bytes(range(16))
#: What is named by the numbers of tags that are ids.
NAMED = {"operation": (NameKind.OPERATION, Category.PYTHON), "wait": (NameKind.BOUNDARY, Category.WAIT)}


class ThreadWriter:
    """One thread's stream. Ticks are absolute and must not decrease."""

    def __init__(self, process: "ProcessWriter", stream: int, thread_id: int, start_ticks: int) -> None:
        self._process = process
        self._stream = stream
        self._thread_id = thread_id
        self._ticks = start_ticks
        self._frames: list[int] = []
        self._sequence = 0
        self._chunk = self._open_chunk(0)

    def new_chunk(self, switch_ticks: int = 0) -> None:
        """Close the chunk and open the next one, as the recorder does when one is full."""
        self._chunk.is_closed = True
        self._chunk = self._open_chunk(switch_ticks)

    def begin_operation(self, ticks: int, name: str) -> None:
        """Enter an operation."""
        self._begin(ticks, self._process.name_id(NameKind.OPERATION, Category.PYTHON, name))

    def begin_phase(self, ticks: int, name: str) -> None:
        """Enter a phase of the process."""
        self._begin(ticks, self._process.name_id(NameKind.PHASE, Category.PYTHON, name))

    def begin_boundary(self, ticks: int, category: Category, name: str) -> None:
        """Enter a call of `category`."""
        self._begin(ticks, self._process.name_id(NameKind.BOUNDARY, category, name))

    def end(self, ticks: int) -> None:
        """Leave the innermost frame."""
        if not self._frames:
            raise ValueError("an end with nothing open")
        self._append(ticks, fmt.RecordKind.END)
        self._frames.pop()

    def operation(self, start: int, end: int, name: str) -> None:
        """Enter an operation and leave it."""
        self.begin_operation(start, name)
        self.end(end)

    def phase(self, start: int, end: int, name: str) -> None:
        """Enter a phase of the process and leave it."""
        self.begin_phase(start, name)
        self.end(end)

    def boundary(self, start: int, end: int, category: Category, name: str) -> None:
        """Enter a call of `category` and leave it."""
        self.begin_boundary(start, category, name)
        self.end(end)

    def progress(self, ticks: int, timesteps: int, total_timesteps: int = 0, is_baseline: bool = False) -> None:
        """Report progress; a baseline says where counting starts."""
        self.tagged(ticks, fmt.OtherTag.PROGRESS, int(is_baseline), timesteps, total_timesteps)

    def absent(self, ticks: int, blocked: int, queued: int = 0, helped: int = 0) -> None:
        """Say of the time since the record before for how long the thread was off the CPU.

        Args:
            ticks: the record's own time, where the gap ends.
            blocked: ticks in which it was not ready to run.
            queued: ticks in which it was, and had no core.
            helped: of both, the blocked ones first, ticks for which threads without a stream used the CPU.
        """
        self.tagged(ticks, fmt.OtherTag.ABSENT, blocked, queued, helped)

    def task(self, ticks: int, operation: str, elapsed: int, running: int) -> None:
        """Say that an operation of a coroutine or generator has ended.

        Args:
            ticks: the record's time.
            operation: its name.
            elapsed: ticks for which it was open.
            running: of these, ticks in which it was not suspended.
        """
        self.tagged(ticks, fmt.OtherTag.TASK, operation, elapsed, running)

    def sample(
        self,
        ticks: int,
        name: str,
        version: int,
        tokens: int,
        times: tuple[int, int] | None = None,
        discarded: bool = False,
    ) -> None:
        """Say that a sample is complete.

        Args:
            ticks: the record's time.
            name: what it is reported as.
            version: of the policy that made it.
            tokens: that it has.
            times: of a task's sample, ticks for which it was made, and for which it was worked on; None: a thread's.
            discarded: whether it is not trained on.
        """
        flags = (fmt.SAMPLE_DISCARDED if discarded else 0) | (fmt.SAMPLE_OF_TASK if times is not None else 0)
        self.tagged(ticks, fmt.OtherTag.SAMPLE, name, flags, version, tokens, *(times or (0, 0)))

    def collective(
        self, ticks: int, name: str, sequence: int, called_at: int, waited_since: int | None, size: int = 0
    ) -> None:
        """Say that a call of a communicator is over.

        Args:
            ticks: the record's time.
            name: the function, and behind a space the communicator.
            sequence: its number among the calls of the communicator.
            called_at: when it was called, in ticks.
            waited_since: since when the thread waited for it; None: nobody did, and when it ended is not known.
            size: its bytes.
        """
        flags, waited = (fmt.COLLECTIVE_UNWAITED, 0) if waited_since is None else (0, ticks - waited_since)
        self.tagged(ticks, fmt.OtherTag.COLLECTIVE, name, flags, sequence, size, ticks - called_at, waited)

    def memory(self, ticks: int, owner: fmt.MemoryOwner, device: int, used_bytes: int, peak_bytes: int) -> None:
        """Say how much memory is in use, and how much was at most so far."""
        self.tagged(ticks, fmt.OtherTag.MEMORY, owner, device, used_bytes, peak_bytes)

    def cpu_time(self, ticks: int, cpu_ns: int) -> None:
        """Say for how long the thread was on a CPU since the last time, or since it began."""
        self.tagged(ticks, fmt.OtherTag.CPU_TIME, cpu_ns)

    def tagged(self, ticks: int, tag: fmt.OtherTag, *values: int | str) -> None:
        """Add a record with a tag: its numbers as the tag declares them, names instead of their ids."""
        numbers = []
        for key, value in zip(tag.numbers, values, strict=True):
            number = self._process.name_id(*NAMED[key], value) if isinstance(value, str) else value
            numbers.append(number + 1)
        self._append(ticks, fmt.RecordKind.OTHER, tag, *numbers)

    def close(self) -> None:
        """End the stream in an orderly way: its last chunk is closed."""
        self._chunk.is_closed = True

    def _open_chunk(self, switch_ticks: int) -> Chunk:
        chunk = Chunk(
            fmt.ChunkKind.EVENTS, self._stream, self._sequence, self._ticks, switch_ticks, self._thread_id,
            tuple(self._frames),
        )  # fmt: skip
        self._process.chunks.append(chunk)
        self._sequence += 1
        self._begun = 0
        self._expected: dict[int, int] = {}
        return chunk

    def _begin(self, ticks: int, name_id: int) -> None:
        self._make_room()
        place, self._begun = self._begun % fmt.EXPECTED_NAMES, name_id
        if self._expected.get(place) == name_id and ticks > self._ticks:
            self._append(ticks, fmt.RecordKind.EXPECTED)
        else:
            self._append(ticks, fmt.RecordKind.BEGIN, name_id)
        self._expected[place] = name_id
        self._frames.append(name_id)

    def _make_room(self) -> None:
        if self._chunk.entries >= self._process.entries_per_chunk:
            self.new_chunk()

    def _append(self, ticks: int, kind: fmt.RecordKind, *numbers: int) -> None:
        if ticks < self._ticks:
            raise ValueError(f"ticks must not decrease, but {ticks} follows {self._ticks}")
        self._make_room()
        self._chunk.payload += trace_entries.encode_varint(ticks - self._ticks << 2 | kind)
        for number in numbers:
            self._chunk.payload += trace_entries.encode_varint(number)
        self._chunk.entries += 1
        self._ticks = ticks


class _WriterBeside:
    """Records beside those of a thread, in chunks of one kind; each counts from the time of the one before it."""

    kind: fmt.ChunkKind

    def __init__(self, process: "ProcessWriter", stream: int) -> None:
        self._process = process
        self._stream = stream
        self._sequence = 0
        self._chunk: Chunk | None = None
        self._ticks = 0

    def _append(self, ticks: int, numbers: Callable[[int], Iterable[int]]) -> None:
        """Add a record of a time; `numbers` makes it of how much later than the one before it, or the chunk, it is.

        One that is earlier than the one before it begins a new chunk.
        """
        if self._chunk is None or ticks < self._ticks or self._chunk.entries >= self._process.entries_per_chunk:
            self.new_chunk()
            self._ticks = ticks
        if self._chunk is None:
            self._chunk = Chunk(self.kind, self._stream, self._sequence, ticks)
            self._process.chunks.append(self._chunk)
            self._sequence += 1
        self._chunk.payload += b"".join(map(trace_entries.encode_varint, numbers(ticks - self._ticks)))
        self._chunk.entries += 1
        self._ticks = ticks

    def new_chunk(self) -> None:
        """Close the chunk; the next record begins another one."""
        self.close()
        self._chunk = None

    def close(self) -> None:
        """End the stream in an orderly way: its last chunk is closed."""
        if self._chunk is not None:
            self._chunk.is_closed = True


class QueueWriter(_WriterBeside):
    """The work of one CUDA stream, or of the host. A record that starts before the last one begins a new chunk."""

    kind = fmt.ChunkKind.DEVICE

    def record(
        self, work: DeviceWork, start: int, end: int, name: str, launch_site: int | None = None, work_bytes: int = 0
    ) -> None:
        """Add work from `start` to `end`; without a launch site nobody knows who wanted it."""
        name_id = self._process.name_id(NameKind.DEVICE_WORK, Category.PYTHON, name)
        site = self._process.launch_site() if launch_site is None else launch_site
        moved = [work_bytes + 1] if work in (DeviceWork.COPY, DeviceWork.MEMSET) else []
        self._append(start, lambda later: [later << 3 | work, end - start + 1, name_id, site, *moved])


class StackWriter(_WriterBeside):
    """The Python stacks that threads were seen with, in order of time."""

    kind = fmt.ChunkKind.STACKS

    def seen(self, ticks: int, thread_id: int, frames: Sequence[tuple[str, str, int]] = ()) -> None:
        """Say that a thread had these frames, outermost first: function, file and line. Without any it was torn."""
        stack = fmt.TORN_STACK
        for frame in frames:
            stack = self._process.stack_id(stack, *frame)
        self._append(ticks, lambda later: [later + 1, thread_id + 1, stack + 1])


class ProcessWriter:
    """One process's file. A process that is never stopped was killed: its last chunks stay open."""

    def __init__(self, header: fmt.FileHeader, entries_per_chunk: int) -> None:
        self.header = header
        self.entries_per_chunk = entries_per_chunk
        self.chunks: list[Chunk] = []
        self._names: dict[tuple[NameKind, Category, str], int] = {}
        self._threads: list[ThreadWriter] = []
        self._queues: list[QueueWriter] = []
        self._stack_writers: list[StackWriter] = []
        self._codes: dict[tuple[str, str], int] = {}
        self._stacks: dict[tuple[int, int, int], int] = {}
        self._launch_sites: dict[tuple[int, str, str], int] = {}
        self._catalog: Chunk | None = None
        self._catalog_chunks = 0

    def thread(
        self, stream: int | None = None, thread_id: int | None = None, start_ticks: int | None = None
    ) -> ThreadWriter:
        """Return a thread that starts at `start_ticks` (the process's start); numbers count up unless given."""
        number = len(self._threads) + len(self._queues) if stream is None else stream
        thread = ThreadWriter(
            self,
            number,
            self.header.pid + number if thread_id is None else thread_id,
            self.header.start_ticks if start_ticks is None else start_ticks,
        )
        self._threads.append(thread)
        return thread

    def queue(self, device: int, stream: int | None = None) -> QueueWriter:
        """Return a queue of a device, or of `format.HOST`; numbers count up together with those of threads
        unless given.
        """
        number = len(self._threads) + len(self._queues) if stream is None else stream
        self._queues.append(QueueWriter(self, number))
        self._add_entry(fmt.EntryType.QUEUE, fmt.pack(trace_entries.QueueEntry(number, device, 1, len(self._queues))))
        return self._queues[-1]

    def stacks(self, stream: int) -> StackWriter:
        """Return what writes the stacks of threads, of which a process has one."""
        self._stack_writers.append(StackWriter(self, stream))
        return self._stack_writers[-1]

    def stack_id(self, caller: int, function: str, file: str, line: int) -> int:
        """Return the id of a stack, which is written to the catalog when it is first asked for."""
        if (function, file) not in self._codes:
            self._codes[function, file] = len(self._codes) + 1
            texts = function.encode(), file.encode()
            entry = trace_entries.CodeEntry(self._codes[function, file], line, *map(len, texts))
            self._add_entry(fmt.EntryType.CODE, fmt.pack(entry) + b"".join(texts))
        key = (caller, self._codes[function, file], line)
        if key not in self._stacks:
            self._stacks[key] = len(self._stacks) + 1
            self._add_entry(fmt.EntryType.STACK, fmt.pack(trace_entries.StackEntry(self._stacks[key], *key)))
        return self._stacks[key]

    def launch_site(self, operation: str = NO_OPERATION, stage: str = NO_OPERATION, stream: int = fmt.NO_STREAM) -> int:
        """Return the id of a launch site, which is written to the catalog when it is first asked for."""
        key = (stream, operation, stage)
        if key not in self._launch_sites:
            is_known = operation != NO_OPERATION
            name = self.name_id(NameKind.OPERATION, Category.PYTHON, operation) if is_known else 0
            self._launch_sites[key] = len(self._launch_sites) + 1
            entry = fmt.pack(
                trace_entries.LaunchSite(self._launch_sites[key], stream, name, fmt.LAUNCH_STAGES.index(stage))
            )
            self._add_entry(fmt.EntryType.LAUNCH_SITE, entry)
        return self._launch_sites[key]

    def properties(self, values: dict[str, Any]) -> None:
        """Add properties; later ones replace keys of earlier ones."""
        text = json.dumps(values).encode()
        self._add_entry(fmt.EntryType.PROPERTIES, len(text).to_bytes(4, "little") + text)

    def name_id(self, kind: NameKind, category: Category, name: str) -> int:
        """Return the id of a name, which is written to the catalog when it is first asked for."""
        key = (kind, category, name)
        if key not in self._names:
            self._names[key] = len(self._names) + 1
            text = name.encode()
            entry = trace_entries.NameEntry(self._names[key], kind, category, len(text))
            self._add_entry(fmt.EntryType.NAME, fmt.pack(entry) + text)
        return self._names[key]

    def stop(self, ticks: int, end_reason: fmt.EndReason = fmt.EndReason.STOPPED, exit_status: int = 0) -> None:
        """End the recording in an orderly way."""
        for thread in self._threads:
            thread.close()
        for queue in self._queues:
            queue.close()
        for stacks in self._stack_writers:
            stacks.close()
        if self._catalog is not None:
            self._catalog.is_closed = True
        last_pair = replace(self.header.last_pair, ticks=ticks)
        ended = trace_entries.with_complement(exit_status) if end_reason == fmt.EndReason.EXIT else 0
        self.header = replace(self.header, stop_ticks=ticks, end_reason=end_reason, ended=ended, last_pair=last_pair)

    def to_bytes(self) -> bytes:
        """Return the whole file."""
        chunks = b"".join(chunk.to_bytes(self.header.format_version) for chunk in self.chunks)
        header = self.header
        if header.has_extent:
            closed = sum(chunk.is_closed and chunk.kind != fmt.ChunkKind.FREE for chunk in self.chunks)
            header = replace(header, file_bytes=fmt.FILE_HEADER_BYTES + len(chunks), chunks=closed)
        return padded(header.pack(), fmt.FILE_HEADER_BYTES) + chunks

    def _add_entry(self, entry_type: fmt.EntryType, content: bytes) -> None:
        if self._catalog is None or self._catalog.entries >= self.entries_per_chunk:
            if self._catalog is not None:
                self._catalog.is_closed = True
            self._catalog = Chunk(fmt.ChunkKind.CATALOG, sequence=self._catalog_chunks)
            self._catalog_chunks += 1
            self.chunks.append(self._catalog)
        size = len(padded(bytes(4 + len(content)), 4))
        self._catalog.payload += padded((size << 8 | entry_type).to_bytes(4, "little") + content, 4)
        self._catalog.entries += 1


class TraceWriter:
    """A trace directory. A tick is one nanosecond of the monotonic clock."""

    def __init__(self, directory: Path, entries_per_chunk: int = 1_000_000) -> None:
        self.directory = directory
        self.entries_per_chunk = entries_per_chunk
        self.processes: list[ProcessWriter] = []

    def process(
        self, pid: int = 1, parent_pid: int = 0, start_ticks: int = 0, boot_id: bytes = DEFAULT_BOOT_ID, name: str = ""
    ) -> ProcessWriter:
        """Return a process, of that name if it has one, that starts recording at `start_ticks`."""
        pair = fmt.ClockPair(start_ticks, start_ticks, start_ticks + 1_000_000_000)
        header = fmt.FileHeader(
            clock=fmt.ClockKind.MONOTONIC, tick_shift=0, pid=pid, parent_pid=parent_pid, start_ticks=start_ticks,
            boot_id=boot_id, first_pair=pair, last_pair=pair,
        )  # fmt: skip
        self.processes.append(ProcessWriter(header, self.entries_per_chunk))
        if name:
            self.processes[-1].properties({"process_name": name})
        return self.processes[-1]

    def write(self, manifest: dict[str, Any] | None = None) -> Path:
        """Write the process files, and the manifest if there is one. Return the directory."""
        self.directory.mkdir(parents=True, exist_ok=True)
        seen: Counter[int] = Counter()
        for process in self.processes:
            pid = process.header.pid
            path = self.directory / f"{pid}-{seen[pid]}{PROCESS_FILE_SUFFIX}"
            path.write_bytes(process.to_bytes())
            seen[pid] += 1
        if manifest is not None:
            write_manifest(self.directory, manifest)
        return self.directory

    def write_complete(self) -> Path:
        """Write the trace of a run that ended well; the first process is its command's. Return the directory."""
        return self.write({"main_pid": self.processes[0].header.pid, "exit_status": 0, "complete": True})
