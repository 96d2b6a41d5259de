"""Traces as lists of events, readable as text: the Python writer makes files of them, the sweep's twin analyzes them.

The text form, one statement per line, `#` starts a comment:

    process start=0 stop=100        also limit=T, coincident, amplification=N, operator_threads=N; killed without stop
    thread 0                        also start=T; the statements of a thread follow it, ticks first
    10 + inference                  begins an operation
    20 + backend:linear             begins a boundary: python, simulator, backend, cuda, wait or cuda_wait
    30 -                            ends the innermost
    5 + phase:collect               begins a phase
    40 progress 10 of 100           timesteps and, if known, total timesteps
    0 baseline 0                    a progress record that marks where counting starts
    30 absent blocked 8 queued 5 helped 3   of the time since the record before, so many ticks without a core; what is
                                    not said is 0
    60 task inference elapsed 50 running 20   an operation of a coroutine has ended
    60 sample act version 3 tokens 40 elapsed 50 working 20 discarded      a sample of a task is complete
    60 sample act version 3 tokens 40              one of the thread
    60 collective all_reduce group:0 sequence 7 called 20 waited 30 bytes 400    a call of a communicator is over
    60 collective send group:0:0>1 sequence 7 called 20                          one that nobody waited for
    60 ran 250                      for so many ns the thread was on a CPU since the last time
    60 message os.read pipe:[3] bytes 400    any other record with a tag: the name of the operation or wait, and its
                                    numbers by their names; what is not said is 0
    60 memory pytorch 1 used 200 peak 300            bytes of device 1, as an allocator knows them; of the host `host 0`
    chunk                           the thread or queue goes on in a new chunk
    queue 9 device=0                work of a device, or `queue 9 host` beside it; statements with start and end follow
    10-20 kernel gemm               also copy, memset, cupti_work, gap
    10-20 copy HtoD bytes=64 launch=inference/act    what was moved, and the stage and operation that wanted it
    stacks 9                        the stacks that threads were seen with, by the threads' ids; statements follow
    15 sees 0 main:a.py:3 f:b.py:7  thread 0 had these frames, outermost first; without any the stack was torn
    cost boundary/torch inside=2 outside=3 rest=1    what recording such an event added, to be removed again: its
                                                     records within it and outside, and all else, outside too
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.trace_writer import NAMED, ProcessWriter, TraceWriter
from rlscope._analysis import properties, sweep
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.analysis.sweep import own_correction
from rlscope.analysis.swept import Swept
from rlscope.model import NO_OPERATION, Category, DeviceWork, NameKind
from rlscope.trace import format as fmt
from rlscope.trace.reader import open_trace


@dataclass(frozen=True)
class Begin:
    ticks: int
    kind: NameKind
    name: str
    category: Category = Category.PYTHON


@dataclass(frozen=True)
class End:
    ticks: int


@dataclass(frozen=True)
class Progress:
    ticks: int
    timesteps: int
    total_timesteps: int = 0
    is_baseline: bool = False


@dataclass(frozen=True)
class Absent:
    ticks: int
    blocked: int = 0
    queued: int = 0
    helped: int = 0


@dataclass(frozen=True)
class Task:
    ticks: int
    operation: str
    elapsed: int
    running: int


@dataclass(frozen=True)
class Sample:
    ticks: int
    name: str
    version: int
    tokens: int
    times: tuple[int, int] | None = None  # of a task: elapsed, and working
    discarded: bool = False


@dataclass(frozen=True)
class Collective:
    ticks: int
    name: str
    sequence: int
    called_at: int
    waited_since: int | None = None
    size: int = 0


@dataclass(frozen=True)
class Memory:
    ticks: int
    owner: fmt.MemoryOwner
    device: int
    used: int
    peak: int


@dataclass(frozen=True)
class CpuTime:
    ticks: int
    ns: int


@dataclass(frozen=True)
class Tagged:
    ticks: int
    tag: fmt.OtherTag
    values: tuple[int | str, ...]  # as the tag declares them


@dataclass(frozen=True)
class NewChunk:
    pass


Statement = Begin | End | Progress | Absent | Task | Sample | Collective | Memory | CpuTime | Tagged | NewChunk


@dataclass(frozen=True)
class Work:
    start: int
    end: int
    kind: DeviceWork
    name: str
    stage: str = NO_OPERATION
    operation: str = NO_OPERATION
    moved_bytes: int = 0


@dataclass(frozen=True)
class Seen:
    ticks: int
    thread: int
    frames: tuple[tuple[str, str, int], ...] = ()


@dataclass
class ThreadScript:
    stream: int
    start: int
    statements: list[Statement] = field(default_factory=list)


@dataclass
class QueueScript:
    stream: int
    device: int
    statements: list[Work | NewChunk] = field(default_factory=list)


@dataclass
class StacksScript:
    stream: int
    statements: list[Seen | NewChunk] = field(default_factory=list)


@dataclass
class ProcessScript:
    start: int = 0
    stop: int | None = None
    limit: int = 0
    coincident: bool = False  # how it is to be analyzed
    threads: list[ThreadScript] = field(default_factory=list)
    queues: list[QueueScript] = field(default_factory=list)
    stacks: StacksScript | None = None
    amplification: int = 1
    operator_threads: int = 1
    costs: dict[str, Cost] | None = None  # in ticks


def certain_cost(records_inside: float, records_outside: float, rest: float = 0, rest_inside: float = 0) -> Cost:
    *parts, inside = [Bounds(part, part, part) for part in (records_inside, records_outside, rest, rest_inside)]
    return Cost(*parts, events=1, rest_inside_ns=inside)  # type: ignore[misc, arg-type]


def operation(ticks: int, name: str) -> Begin:
    return Begin(ticks, NameKind.OPERATION, name)


def phase(ticks: int, name: str) -> Begin:
    return Begin(ticks, NameKind.PHASE, name)


def boundary(ticks: int, category: Category, name: str = "call") -> Begin:
    return Begin(ticks, NameKind.BOUNDARY, name, category)


def parse_script(text: str) -> ProcessScript:
    """The process that a `.trace.txt` describes."""
    script = ProcessScript()
    statements: list[Any] = []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        options = {key: int(value) for key, _, value in (word.partition("=") for word in words) if value.isdigit()}
        if words[0] == "process":
            script.start = options.get("start", 0)
            script.stop = options.get("stop")
            script.limit = options.get("limit", 0)
            script.coincident = "coincident" in words
            script.amplification = options.get("amplification", 1)
            script.operator_threads = options.get("operator_threads", 1)
        elif words[0] == "cost":
            rests = (options.get(key, 0) for key in ("rest", "rest_inside"))
            cost = certain_cost(options["inside"], options["outside"], *rests)
            script.costs = (script.costs or {}) | {words[1]: cost}
        elif words[0] == "thread":
            script.threads.append(ThreadScript(int(words[1]), options.get("start", script.start)))
            statements = script.threads[-1].statements
        elif words[0] == "queue":
            script.queues.append(QueueScript(int(words[1]), options.get("device", fmt.HOST)))
            statements = script.queues[-1].statements
        elif words[0] == "stacks":
            script.stacks = StacksScript(int(words[1]))
            statements = script.stacks.statements
        elif words[1:2] == ["sees"]:
            frames = tuple((name, file, int(at)) for name, file, at in (word.split(":") for word in words[3:]))
            statements.append(Seen(int(words[0]), int(words[2]), frames))
        elif "-" in words[0][1:]:
            statements.append(_parse_work(words))
        else:
            statements.append(_parse_statement(line.split("#")[0].strip()))
    return script


def _parse_work(words: list[str]) -> Work:
    start, _, end = words[0].partition("-")
    options = dict(word.split("=") for word in words[3:])
    stage, _, operation_name = options.get("launch", f"{NO_OPERATION}/{NO_OPERATION}").partition("/")
    kind = DeviceWork[words[1].upper()]
    return Work(int(start), int(end), kind, words[2], stage, operation_name, int(options.get("bytes", 0)))


def _parse_statement(line: str) -> Statement:
    if line == "chunk":
        return NewChunk()
    ticks, verb, rest = (*line.split(maxsplit=2), "")[:3]
    if verb == "-":
        return End(int(ticks))
    if verb in ("progress", "baseline"):
        numbers = [int(number) for number in re.findall(r"\d+", rest)]
        return Progress(int(ticks), *numbers, is_baseline=verb == "baseline")  # type: ignore[misc, arg-type]
    if verb == "absent":
        words = rest.split()
        return Absent(int(ticks), **dict(zip(words[::2], map(int, words[1::2]), strict=True)))
    if verb == "task":
        name, _, elapsed, _, running = rest.rsplit(maxsplit=4)
        return Task(int(ticks), name, int(elapsed), int(running))
    if verb == "sample":
        name, _, version, _, tokens, *more = rest.split()
        times = (int(more[1]), int(more[3])) if "elapsed" in more else None
        return Sample(int(ticks), name, int(version), int(tokens), times, "discarded" in more)
    if verb == "collective":
        function, communicator, *pairs = rest.split()
        given = dict(zip(pairs[::2], map(int, pairs[1::2]), strict=True))
        return Collective(
            int(ticks), f"{function} {communicator}", given["sequence"], given["called"], given.get("waited"),
            given.get("bytes", 0),
        )  # fmt: skip
    if verb == "memory":
        owner, device, _, used, _, peak = rest.split()
        return Memory(int(ticks), fmt.MemoryOwner[owner.upper()], int(device), int(used), int(peak))
    if verb == "ran":
        return CpuTime(int(ticks), int(rest))
    if verb.upper() in fmt.OtherTag.__members__:
        return _parse_tagged(int(ticks), fmt.OtherTag[verb.upper()], rest)
    if verb != "+":
        raise ValueError(f"no statement: {line}")
    prefix, colon, name = rest.partition(":")
    if not colon:
        return operation(int(ticks), rest)
    if prefix == "phase":
        return phase(int(ticks), name)
    return boundary(int(ticks), Category[prefix.upper()], name)


def _parse_tagged(ticks: int, tag: fmt.OtherTag, rest: str) -> Tagged:
    named = tag.numbers[0] in NAMED
    pattern = rf" ?\b({'|'.join(tag.numbers[named:])}) (\d+)"
    given: dict[str, int | str] = {key: int(number) for key, number in re.findall(pattern, rest)}
    name = re.sub(pattern, "", rest)
    if not named and name:
        raise ValueError(f"{tag.name} has the numbers {', '.join(tag.numbers)}, and no {name!r}")
    return Tagged(ticks, tag, (*[name][:named], *(given.get(key, 0) for key in tag.numbers[named:])))


def write_script(script: ProcessScript, directory: Path, entries_per_chunk: int = 1_000_000) -> Path:
    """Writes a trace of one process; returns the path of its file."""
    return next(write_scripts([script], directory, entries_per_chunk).glob("*.rlscope"))


def analyzed(directory: Path, *texts: str) -> Analysis:
    """The analysis of processes that are written as text, as `parse_script` reads them."""
    return analyze(open_trace(write_scripts([parse_script(text) for text in texts], directory)))


def write_scripts(scripts: list[ProcessScript], directory: Path, entries_per_chunk: int = 1_000_000) -> Path:
    """Writes a trace of processes with the ids 1, 2 and so on, all but the first of which are its children."""
    writer = TraceWriter(directory, entries_per_chunk)
    for number, script in enumerate(scripts):
        _add(script, writer.process(pid=number + 1, parent_pid=min(number, 1), start_ticks=script.start))
    return writer.write()


def _add(script: ProcessScript, process: ProcessWriter) -> None:
    for name in ("amplification", "operator_threads"):
        if getattr(script, name) != 1:
            process.properties({name: getattr(script, name)})
    for thread in script.threads:
        stream = process.thread(stream=thread.stream, start_ticks=thread.start)
        for statement in thread.statements:
            match statement:
                case Begin(ticks, NameKind.OPERATION, name):
                    stream.begin_operation(ticks, name)
                case Begin(ticks, NameKind.PHASE, name):
                    stream.begin_phase(ticks, name)
                case Begin(ticks, NameKind.BOUNDARY, name, category):
                    stream.begin_boundary(ticks, category, name)
                case End(ticks):
                    stream.end(ticks)
                case Progress(ticks, timesteps, total_timesteps, is_baseline):
                    stream.progress(ticks, timesteps, total_timesteps, is_baseline)
                case Absent():
                    stream.absent(*vars(statement).values())
                case Task(ticks, name, elapsed, running):
                    stream.task(ticks, name, elapsed, running)
                case Sample():
                    stream.sample(*vars(statement).values())
                case Collective():
                    stream.collective(*vars(statement).values())
                case Memory():
                    stream.memory(*vars(statement).values())
                case CpuTime(ticks, ns):
                    stream.cpu_time(ticks, ns)
                case Tagged(ticks, tag, values):
                    stream.tagged(ticks, tag, *values)
                case NewChunk():
                    stream.new_chunk()
    for script_queue in script.queues:
        queue = process.queue(script_queue.device, stream=script_queue.stream)
        for work in script_queue.statements:
            if isinstance(work, NewChunk):
                queue.new_chunk()
            else:
                launch = process.launch_site(work.operation, work.stage)
                queue.record(work.kind, work.start, work.end, work.name, launch, work.moved_bytes)
    if script.stacks is not None:
        stacks = process.stacks(script.stacks.stream)
        for seen in script.stacks.statements:
            if isinstance(seen, NewChunk):
                stacks.new_chunk()
            else:
                stacks.seen(seen.ticks, process.header.pid + seen.thread, seen.frames)
    if script.stop is not None:
        process.stop(script.stop)


def sweep_script(
    script: ProcessScript, path: Path, by_thread: bool = False, since_ticks: int = 0, decodes_ahead: bool = False
) -> Swept:
    """What the C++ sweep finds in the file, which `write_script` made, asked as the script says."""
    costs = None
    if script.costs is not None:
        (file,) = open_trace(path.parent).processes
        costs = own_correction(Correction(script.costs, "a script", {}), file, properties(path)).in_ticks(file.clock)
    return sweep(
        path,
        limit_ticks=script.limit,
        by_thread=by_thread,
        coincident=script.coincident,
        costs=costs,
        since_ticks=since_ticks,
        decodes_ahead=decodes_ahead,
    )
