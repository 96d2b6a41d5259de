"""The slow, obvious twin of the C++ sweep: works from the list of events, and asks at each instant who owns it.

Each rule of docs/analysis.md is one function here, written from the stacks of open frames and nothing else.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count as numbers_from
from itertools import pairwise
from typing import Any

from trace_builder import (
    Absent,
    Begin,
    Collective,
    CpuTime,
    End,
    Memory,
    NewChunk,
    ProcessScript,
    Progress,
    Sample,
    Seen,
    Tagged,
    Task,
    Work,
)

from rlscope.analysis.correction.corrected import corrected_parts
from rlscope.analysis.correction.costs import Cost
from rlscope.analysis.swept import Swept
from rlscope.model import (
    CALL_CATEGORIES,
    EVALUATION,
    NO_OPERATION,
    NO_PHASE,
    STAGES,
    TRAINING_LOOP,
    Category,
    DeviceWork,
    NameKind,
    Purpose,
)
from rlscope.trace import format as fmt
from rlscope.trace.format import HOST, PERIODS_OF_CALLS, STACK_PERIOD_NS

Stack = list[Begin]
MAIN = 0
BOUNDS = range(3)
BLOCKED = (Category.WAIT, Category.CUDA_WAIT, Category.NO_CORE)
WITHOUT_DEVICE_IDLE = (Category.WAIT, Category.NO_CORE)
#: Operations that are in no stage.
LEAVING = [purpose.value for purpose in Purpose if purpose.leaves_stage]
#: Purposes that operations of their name have.
PURPOSES = {purpose.value: purpose for purpose in [*Purpose][1:8]}
#: Operations that may come anywhere in a program's life: time in them alone is in no operation.
ANYWHERE = [name for name, purpose in PURPOSES.items() if purpose.comes_anywhere]
CUDA = (Category.CUDA, Category.CUDA_WAIT)
BLOCKED_IN_NO_BOUNDARY = "(blocked)"
#: The mark of simulation with a reset in it.
OF_RESET = "simulation with a reset"
#: In which stacks of native calls are looked at once.
STACK_PERIOD = PERIODS_OF_CALLS * STACK_PERIOD_NS


def is_on_device(work: DeviceWork) -> bool:
    """Return whether a device is busy with it."""
    return work <= DeviceWork.MEMSET


@dataclass
class Gap:
    """Begins right behind the record before an absent record, and ends with that one."""

    start: int
    end: int
    said: Absent
    waiting: int = 0  # ticks in which the thread waits
    queued: int = 0  # ticks in which it has no core

    def absent(self, start: int, end: int) -> tuple[int, int]:
        """Of the ticks from start to end, in how many the thread had no core, and in how many it waited."""
        (queued, absent), (queued_at_end, absent_at_end) = map(self._until, (start, end))
        return queued_at_end - queued, absent_at_end - absent - (queued_at_end - queued)

    def _until(self, now: int) -> tuple[int, int]:
        """From the gap's start to now, the ticks without a core, and those that it was absent at all."""
        whole = self.waiting + self.queued
        absent = (min(max(now, self.start), self.end) - self.start) * whole // (self.end - self.start)
        return absent * self.queued // whole, absent


#: Stage, operation, layer, whether in an evaluation, and the wait.
Doing = tuple[str, str, str, bool, str]
Record = Begin | End | Progress | Task | Sample | Collective | Memory | CpuTime | Tagged | Absent | Gap | Seen


def boundaries_of(stack: Stack) -> Stack:
    return [frame for frame in stack if frame.kind is NameKind.BOUNDARY]


def category_of(stack: Stack) -> Category:
    boundaries = boundaries_of(stack)
    return boundaries[-1].category if boundaries else Category.PYTHON


def function_label(frame: Begin) -> str:
    """Without the channel of a wait."""
    return frame.name.split(" ")[0] if frame.category is Category.WAIT else frame.name


def calling_frame(function: str, frames: tuple[tuple[str, str, int], ...]) -> tuple[str, str, int]:
    """Where the library was called of which the function is; of a CUDA call that of its innermost frame."""
    if not frames:
        return "", "", 0
    package = re.search(r".*-packages(/[^/]+/)", frames[-1][1])
    library = f"/{function.split('.')[0]}/" if "." in function else package[1] if package else None
    outside = len(frames)
    while library and outside and library in frames[outside - 1][1]:
        outside -= 1
    return frames[outside - 1]


def places_of(seen: Seen) -> tuple[tuple[str, str, int], ...]:
    """Its frames without those of the recorder and of the import system."""
    of_recorder = r"(record|libraries|callbacks|trace|text)/|(__init__|boot|notebook)\.py"
    hidden = rf"<frozen (importlib|zipimport|runpy)|.*/rlscope/({of_recorder})"
    return tuple(frame for frame in seen.frames if not re.match(hidden, frame[1]))


def stack_text(frames: Iterable[tuple[str, str, int]]) -> str:
    """As a script has it."""
    return " ".join(f"{function}:{file}:{line}" for function, file, line in frames)


def operations_of(stack: Stack) -> list[str]:
    return [frame.name for frame in stack if frame.kind is NameKind.OPERATION]


def stage_of(operations: list[str]) -> str:
    """Rule 1: what is in no stage again, by a callback in one, is in the training loop."""
    named = [name for name in operations if name in (*STAGES, *LEAVING)]
    if named and named[-1] not in LEAVING:
        return named[-1]
    return TRAINING_LOOP if TRAINING_LOOP in operations or outer_stage_of(operations) else NO_OPERATION


def outer_stage_of(operations: list[str]) -> str:
    """The stage in the middle of which a callback was called that is in no stage again; "" if there is none."""
    named = [name for name in operations if name in (*STAGES, *LEAVING)]
    stages = [name for name in named if name not in LEAVING]
    return stages[-1] if stages and named[-1] in LEAVING else ""


def purpose_of(operations: list[str]) -> Purpose:
    """The innermost that interrupts others, else the outermost."""
    found = [PURPOSES[name] for name in operations if name in PURPOSES]
    interrupting = [purpose for purpose in found if purpose.interrupts]
    return interrupting[-1] if interrupting else found[0] if found else Purpose.TRAINING


def is_outside(operations: list[str]) -> bool:
    return all(name in ANYWHERE for name in operations)


def shows_loop(operations: list[str]) -> bool:
    """Whether the outermost operation, which is the last of these, shows where the training loop is."""
    return operations[-1] == TRAINING_LOOP or purpose_of(operations).shows_loop


def outermost(operations: list[str]) -> list[str]:
    """Up to the first that is not one of those that may come anywhere."""
    place = next(place for place, name in enumerate(operations) if name not in ANYWHERE)
    return operations[: place + 1]


def leaf_of(operations: list[str]) -> str:
    return NO_OPERATION if is_outside(operations) else operations[-1]


def context_of(operations: list[str]) -> tuple[bool, Purpose, str, bool]:
    """What tells operations apart that read the same."""
    return bool(operations), purpose_of(operations), outer_stage_of(operations), is_outside(operations)


def is_busy(stack: Stack) -> bool:
    """In an operation of its own, and not waiting for another thread."""
    waits = category_of(stack) is Category.WAIT and boundaries_of(stack)[-1].name.startswith(("_thread.", "_queue."))
    return bool(operations_of(stack)) and not waits


def takes_part(stream: int, stack: Stack) -> bool:
    return stream == MAIN or bool(boundaries_of(stack)) or bool(operations_of(stack))


def keys_of_cost(frame: Begin) -> list[str]:
    """Where to look for what an event costs, the most exact first."""
    if frame.kind is NameKind.PHASE:
        return ["operation"]
    if frame.kind is NameKind.OPERATION:
        return [f"operation/{frame.name}", "operation"]
    if frame.category in CUDA:
        return [f"cuda/{frame.name}", "cuda"]
    return [f"boundary/{frame.name.split('.')[0]}", "boundary"]


def cost_parts(cost: Cost, amplification: int) -> tuple[list[float], list[float]]:
    """Inside and outside: the least, the expected and the most."""
    parts = (cost.records_inside_ns, cost.rest_inside_ns, cost.records_outside_ns, cost.rest_outside_ns)
    inside, rest_inside, outside, rest_outside = ((part.low, part.mean, part.high) for part in parts)
    return (
        [amplification * inside[i] + rest_inside[i] for i in BOUNDS],
        [amplification * outside[i] + rest_outside[i] for i in BOUNDS],
    )


def is_communication(work: Work) -> bool:
    """Tell whether it is work of NCCL, or a copy between devices."""
    return re.match(r"(_Z\d+)?nccl(Dev|Sym|Symk)*Kernel|memcpy PtoP", work.name) is not None


def resource_of(category: Category, running: list[tuple[int, Work]]) -> str:
    """Rule 4."""
    if running and all(is_communication(work) for _, work in running):
        return "communication" if category in BLOCKED else "cpu+communication"
    if running:
        return "gpu" if category in BLOCKED else "cpu+gpu"
    return "idle" if category in WITHOUT_DEVICE_IDLE else "cpu"


class Twin:
    """Of a window that begins at `since`, the counts and times of what happened before are forgotten there."""

    def __init__(self, script: ProcessScript, since: int | None = None) -> None:
        self.coincident = script.coincident
        self.is_window = since is not None and since > script.start
        # In order of start; of several at the same tick that of the lower queue first, then in the order of the file.
        self.work = sorted(
            (work.start, queue.stream, index, queue.device, work)
            for queue in script.queues
            for index, work in enumerate(queue.statements)
            if isinstance(work, Work)
        )
        self.has_several_devices = len({device for *_, device, _ in self.work} - {HOST}) > 1
        # Besides the records of threads, where time is rounded to ticks that is shared.
        self.edges = {work.start for *_, work in self.work} | {thread.start for thread in script.threads}
        self.edges |= {work.end for *_, work in self.work if is_on_device(work.kind)}
        self.costs = {key: cost_parts(cost, script.amplification) for key, cost in (script.costs or {}).items()}
        self.debts: dict[int, list[float]] = {}  # what each thread spends from now on recording, by bound
        self.removed: dict[tuple[str, ...], list[float]] = {}
        self.turned: dict[tuple[str, ...], list[float]] = {}
        self.charged = [0.0] * len(BOUNDS)
        self.uncorrectable = [0.0] * len(BOUNDS)
        self.busy: Counter[int] = Counter()
        self.busy_of: Counter[tuple[int, str, str]] = Counter()
        self.exposed_of: Counter[tuple[int, str, str]] = Counter()
        self.communicating: Counter[int] = Counter()
        self.stacks: dict[int, Stack] = {MAIN: []}
        self.open_phases: list[Begin] = []  # in the order in which they began
        self.runs_python = {MAIN}
        self.gaps: dict[int, Gap] = {}  # of threads that wait for a part of the time
        self.has_native_threads = False
        self.breakdown: Counter[tuple[str, ...]] = Counter()
        self.threads: Counter[tuple[Any, ...]] = Counter()
        self.phases: dict[str, tuple[int, int]] = {}  # first begin and last end, in order of the first begin
        self.entered_waits: Counter[tuple[str, str]] = Counter()
        self.waited: Counter[tuple[str, str]] = Counter()
        self.waited_in_operations: Counter[tuple[str, str]] = Counter()
        # Start, end, ticks, category, resource, purpose.
        self.outside: list[tuple[int, int, int, str, str, str]] = []
        self.purposes: Counter[tuple[str, ...]] = Counter()  # without those
        self.waited_outside: list[tuple[int, int, int, tuple[str, str]]] = []
        self.idle: list[tuple[int, int, int, int, Doing]] = []
        self.marks: list[tuple[int, str, bool]] = []  # the outermost operation, whether it begins; "" for a report
        self.resets: set[int] = set()  # threads whose outermost operation is simulation, with a reset in it
        self.beside = 0
        self.have_operated: set[int] = set()
        # By thread, and depth of the frame: when, and for how long the thread had had no core until then.
        self.operation_starts: dict[tuple[int, int], tuple[int, int]] = {}
        self.no_core: Counter[int] = Counter()  # by thread, in gaps that have ended
        self.durations: dict[tuple[Any, ...], list[int]] = {}
        self.transitions: Counter[tuple[str, ...]] = Counter()
        self.evaluation_transitions: Counter[tuple[str, ...]] = Counter()
        self.transitions_outside: list[int] = []  # after how many marks
        self.evaluated = 0
        self.events: Counter[str] = Counter()
        self.crossings: Counter[str] = Counter()
        self.cuda_calls: Counter[tuple[str, bool]] = Counter()
        self.progress: list[tuple[int, Progress, int]] = []  # with the ticks of evaluation up to it
        self.tasks: dict[str, list[Task]] = {}
        self.samples: list[
            tuple[int, int, int, Sample]
        ] = []  # reports of progress and time before, how long it was made
        self.sample_since: dict[int, int] = {}  # of the thread
        self.collectives: list[tuple[Any, ...]] = []
        # Scope, time, reports of progress before, and for how long the thread was in its operation.
        self.memory: list[tuple[Memory, str, str, int, int, int]] = []
        self.messages: Counter[tuple[str, str, str]] = Counter()  # by scope and boundary
        self.message_bytes: Counter[tuple[str, str, str]] = Counter()
        self.lines: dict[tuple[str, str, str, str, int], list[int]] = {}  # stacks and ticks
        self.unseen: Counter[tuple[Any, ...]] = Counter()  # in Python since the last stack, by phase and scope
        self.without_core: Counter[tuple[Any, ...]] = Counter()  # of these
        # Where a stack was seen, without the part of the loop, by the marks of the loop up to then: stacks and ticks.
        self.stack_times: dict[tuple[Any, ...], list[int]] = {}
        self.torn = 0
        self.thread_starts = {thread.stream: max(thread.start, script.start) for thread in script.threads}
        # Since CPU time was read: begins, ticks and those in which the thread ran, by phase, stage and operation.
        self.unread: dict[int, dict[tuple[Any, ...], list[int]]] = {stream: {} for stream in self.thread_starts}
        self.cpu_times: dict[tuple[str, ...], list[int]] = {}
        self.recorded = {thread.stream for thread in script.threads}
        self.began: dict[tuple[int, int], int] = {}  # when the frame at a thread's depth did
        # By thread and depth: where, and since when.
        self.open_syncs: dict[tuple[int, int], tuple[tuple[str, ...], int]] = {}
        self.seen_calls: dict[tuple[int, int], tuple[tuple[Any, ...], int, tuple[Any, ...] | None]] = {}
        self.last_sync: dict[int, tuple[tuple[str, ...], int, int]] = {}  # where, begin, depth of the call
        self.syncs: dict[tuple[str, ...], list[int]] = {}  # count and ticks
        self.sync_lines: dict[tuple[str, ...], Counter[tuple[str, str, int]]] = {}
        self.sites: dict[tuple[Any, ...], list[float]] = {}  # stacks, stacks of calls that waited, calls, ticks
        self.start = script.start
        self.counted_from = -1  # pieces of device work that start before are none
        records = self._records(script)
        last = max(
            [
                script.start,
                *(thread.start for thread in script.threads),
                *(record[0] for record in records),
                *(record[-1].end for record in self.work),
            ]
        )
        if script.stop is not None:
            self.end = script.stop
        else:
            self.end = max(script.limit, script.start) if script.limit else max(last, since or 0)
        now = self.start
        if since is not None and script.limit and script.stop is None:
            records = [record for record in records if record[0] < self.end]
            self.work = [work for work in self.work if work[0] < self.end]
        window = None if since is None or since <= self.start else min(since, self.end)
        for ticks, stream, _, statement in records:
            if window is not None and ticks >= window:
                self.account(now, window)
                self.begin_window(window)
                now, window = window, None
            until = min(max(ticks, now), self.end)
            self.account(now, until)
            now = until
            if now == ticks:
                self.charge(stream, statement)
            self.apply(stream, statement, now)
        if window is not None:
            self.account(now, window)
            self.begin_window(window)
            now = window
        self.account(now, self.end)
        for stack in self.stacks.values():
            self.mark_outermost(self.end, operations_of(stack))
        for frame in self.open_phases:
            self.phases[frame.name] = (self.phases[frame.name][0], self.end)
        for at in sorted(self.open_syncs.keys() | self.seen_calls.keys(), key=lambda at: -at[1]):
            self.end_call(*at, self.end)
        for debt in self.debts.values():
            self.uncorrectable = [self.uncorrectable[i] + debt[i] for i in BOUNDS]

    def begin_window(self, now: int) -> None:
        """Forgets what was counted, but not what is open."""
        self.start = self.counted_from = now
        self.gaps_at_window = [*self.gaps.values()]
        for counter in (
            self.breakdown, self.purposes, self.threads, self.entered_waits, self.waited, self.waited_in_operations,
            self.transitions, self.evaluation_transitions, self.transitions_outside, self.events, self.crossings,
            self.cuda_calls, self.tasks, self.busy, self.busy_of, self.exposed_of, self.communicating, self.marks,
            self.outside, self.waited_outside, self.progress, self.memory, self.lines, self.unseen, self.without_core,
            self.last_sync, self.syncs, self.sync_lines, self.sites, self.seen_calls, self.stack_times,
        ):  # fmt: skip
            counter.clear()  # type: ignore[attr-defined]
        self.beside = self.torn = 0
        self.open_syncs = {at: ((*self.scope(at[0]), *place[2:]), now) for at, (place, _) in self.open_syncs.items()}
        self.phases = {frame.name: (now, now) for frame in self.open_phases}
        self.have_operated = {stream for stream, stack in self.stacks.items() if not is_outside(operations_of(stack))}
        for stream in self.have_operated:
            self.mark_outermost(now, operations_of(self.stacks[stream]), begins=True)

    @staticmethod
    def _records(script: ProcessScript) -> list[tuple[int, int, int, Record]]:
        """All threads' records in order of time; at the same tick the lower stream comes first."""
        records: list[tuple[int, int, int, Record]] = []
        for thread in script.threads:
            before = thread.start
            for index, statement in enumerate(thread.statements):
                if isinstance(statement, NewChunk):
                    continue
                if isinstance(statement, Absent):
                    gap = Gap(before, statement.ticks, statement)
                    records.append((before, thread.stream, index, gap))
                records.append((statement.ticks, thread.stream, index, statement))
                before = statement.ticks
        for index, seen in enumerate(script.stacks.statements if script.stacks is not None else ()):
            if isinstance(seen, Seen):
                records.append((seen.ticks, -1, index, seen))  # before what threads record at this tick
        return sorted(records, key=lambda record: record[:3])

    def operations(self, stream: int) -> list[str]:
        """Rule 2: a thread with no operation of its own has the main thread's."""
        return operations_of(self.stacks[stream]) or operations_of(self.stacks[MAIN])

    def scope(self, stream: int) -> tuple[str, str]:
        operations = self.operations(stream)
        return stage_of(operations), leaf_of(operations)

    def owner_key(self, stream: int, category: Category) -> tuple[int, bool, int, int]:
        """Rule 3, clauses (a) to (d): the lower the sooner."""
        order = ["python", "native", "simulator", "cuda", "backend", "wait"]
        turn = 1 if category is Category.NO_CORE else 2 * (category in BLOCKED)
        label = self.ready_in(stream, category) or category.label
        return turn, not self.operations(stream), order.index(label), stream

    def ready_in(self, stream: int, category: Category) -> str:
        return category_of(self.stacks[stream]).label if category is Category.NO_CORE else ""

    def threads_in_part(self) -> list[int]:
        return [stream for stream, stack in self.stacks.items() if takes_part(stream, stack)]

    def rest(self, stream: int) -> Category:
        """What the thread does in time that no part of any gap takes: in a gap it waits, if it does that at all."""
        gap = self.gaps.get(stream)
        return category_of(self.stacks[stream]) if gap is None else Category.WAIT if gap.waiting else Category.NO_CORE

    def rest_key(self, stream: int) -> tuple[int, bool, int, int]:
        return self.owner_key(stream, self.rest(stream))

    def owner(self) -> int:
        """Of what threads leave that run for a part of the time."""
        return min(self.threads_in_part(), key=self.rest_key)

    def has_part(self, stream: int) -> bool:
        """Whether the instant is the thread's for what it runs: as the owner, or for a part of its gap."""
        if stream not in self.gaps:
            return stream == self.owner()
        gap = self.gaps[stream]
        runs = gap.waiting + gap.queued < gap.end - gap.start
        return runs and self.owner_key(stream, category_of(self.stacks[stream])) < self.rest_key(self.owner())

    def view(self, stream: int, start: int, end: int) -> list[tuple[Category, int]]:
        """What the thread did from start to end: rule 10."""
        category = category_of(self.stacks[stream])
        if stream not in self.gaps:
            return [(category, end - start)]
        gap = self.gaps[stream]
        queued, waited = gap.absent(start, end)
        return [(category, end - start - queued - waited), (Category.NO_CORE, queued), (Category.WAIT, waited)]

    def owned(self, start: int, end: int) -> list[tuple[int, Category, int]]:
        """Whose the time from start to end is, as what and how many ticks of it: rules 3 and 10."""
        parts = []
        for stream in self.threads_in_part():
            for category, ticks in self.view(stream, start, end):
                is_rest = category is self.rest(stream)  # anything that is left may be that
                parts.append((self.owner_key(stream, category), stream, category, end - start if is_rest else ticks))
        found, left = [], end - start
        for _, stream, category, ticks in sorted(parts):
            found.append((stream, category, min(ticks, left)))
            left -= found[-1][-1]
        return [part for part in found if part[-1]]

    def phase(self) -> str:
        """Rule 6."""
        return self.open_phases[-1].name if self.open_phases else NO_PHASE

    def evaluates(self) -> bool:
        return self.phase() == EVALUATION

    def mark(self, now: int, name: str, begins: bool = False) -> None:
        if not self.evaluates() or name in ("", TRAINING_LOOP):
            self.marks.append((now, name, begins))

    def mark_outermost(self, now: int, operations: list[str], begins: bool = False, had_reset: bool = False) -> None:
        """The outermost of the operations begins, is open or has ended, unless they are in none."""
        if not is_outside(operations) and shows_loop(found := outermost(operations)):
            self.mark(now, OF_RESET if had_reset else found[-1], begins)

    def doing(self, stream: int, category: Category) -> Doing:
        wait = self.wait_name(stream) if category is Category.WAIT else ""
        return (*self.scope(stream), category.label, self.evaluates(), wait)

    def wait_name(self, stream: int) -> str:
        """Rule 9."""
        boundaries = boundaries_of(self.stacks[stream])
        return boundaries[-1].name if boundaries else BLOCKED_IN_NO_BOUNDARY

    def row(
        self,
        stream: int,
        category: Category,
        running: list[tuple[int, Work]],
        scope: tuple[str, str],
        is_launchs: bool = False,
    ) -> tuple[str, ...]:
        outer = "" if is_launchs else outer_stage_of(self.operations(stream))
        resource = resource_of(category, running)
        return self.phase(), *scope, category.label, resource, self.ready_in(stream, category), outer

    def running(self, start: int, end: int) -> list[tuple[int, Work]]:
        """What runs on devices from start to end, between which nothing changes; the owner of the instant first."""
        found = [
            (device, work)
            for *_, device, work in self.work
            if is_on_device(work.kind) and work.start <= start and end <= work.end
        ]
        return sorted(found, key=lambda each: is_communication(each[1]))

    def own_scope(self, stream: int) -> tuple[Any, ...]:
        """And what else tells it apart."""
        operations = operations_of(self.stacks.get(stream, []))
        return self.phase(), stage_of(operations), leaf_of(operations), context_of(operations)

    def read_cpu_time(self, stream: int, ns: int) -> None:
        """Each part since the last reading has of the time on a CPU what it has of the time in which the thread ran."""
        parts, here = self.unread[stream], self.own_scope(stream)
        whole = sum(ran for *_, ran in parts.values())
        given = {key: ns * ran // whole if whole else 0 for key, (*_, ran) in parts.items()}
        if left := ns - sum(given.values()):
            parts.setdefault(here, [0, 0, 0])
            given[here] = given.get(here, 0) + left
        for key, (begins, ticks, _) in parts.items():
            if any(found := (begins, ticks, given[key])):
                row = self.cpu_times.setdefault(key[:-1], [0, 0, 0])
                self.cpu_times[key[:-1]] = [a + b for a, b in zip(row, found, strict=True)]
        self.unread[stream] = {}

    def account_for_cpu_times(self, start: int, end: int) -> None:
        for stream, parts in self.unread.items():
            if self.thread_starts[stream] <= start:
                category, ran = (
                    self.view(stream, start, end)[0] if stream in self.stacks else (Category.PYTHON, end - start)
                )
                part = parts.setdefault(self.own_scope(stream), [0, 0, 0])
                part[1] += end - start
                part[2] += 0 if category is Category.WAIT else ran

    def account(self, start: int, end: int) -> None:
        self.evaluated += (end - start) * self.evaluates()
        edges = {edge for edge in self.edges if start < edge < end}
        for from_ticks, to_ticks in pairwise(sorted({start, end, *edges})):
            self.account_for_devices(from_ticks, to_ticks)
            self.account_for_threads(from_ticks, to_ticks)
            self.account_for_cpu_times(from_ticks, to_ticks)

    def account_for_devices(self, start: int, end: int) -> None:
        """A device's time belongs to the launch of its earliest started work, of what computes before the rest."""
        owners: dict[int, Work] = {}
        for device, work in self.running(start, end):
            owners.setdefault(device, work)
        for device, work in owners.items():
            self.busy[device] += end - start
            self.busy_of[device, work.stage, work.operation] += end - start
            if is_communication(work):
                self.exposed_of[device, work.stage, work.operation] += end - start
        for device in {device for device, work in self.running(start, end) if is_communication(work)}:
            self.communicating[device] += end - start

    def account_for_threads(self, start: int, end: int) -> None:
        running = self.running(start, end)
        working: dict[int, int] = {}  # ticks that are the process's, in which the thread did not wait
        for stream, category, ticks in self.owned(start, end):
            scope = self.scope(stream)
            if not running or self.has_several_devices:
                devices = sum(1 << device for device in {device for device, _ in running})
                self.idle.append((start, end, ticks, devices, self.doing(stream, category)))
            is_launchs = bool(running) and category in BLOCKED and not self.coincident
            if is_launchs:
                scope = running[0][1].stage, running[0][1].operation  # rule 5
            row = self.row(stream, category, running, scope, is_launchs)
            self.breakdown[row] += ticks
            if category is Category.PYTHON or (row[5] == Category.PYTHON.label and not running):
                place = (self.phase(), context_of(self.operations(stream)), *scope)
                self.unseen[place] += ticks
                self.without_core[place] += ticks * (category is not Category.PYTHON)
            # The label is not enough, as above: an operation may be called "(none)".
            in_none = scope == (NO_OPERATION, NO_OPERATION) and (is_launchs or is_outside(self.operations(stream)))
            purpose = purpose_of([scope[1]] if is_launchs else self.operations(stream)).value
            if in_none and not self.open_phases:
                self.outside.append((start, end, ticks, row[3], row[4], purpose))
            else:
                self.purposes[row[0], purpose, row[1], row[3], row[4], ""] += ticks
            if category is Category.WAIT:
                wait = self.phase(), self.wait_name(stream)
                self.waited[wait] += ticks
                self.waited_in_operations[wait] += ticks * (not is_outside(self.operations(stream)))
                if is_outside(self.operations(stream)):
                    self.waited_outside.append((start, end, ticks, wait))
            if category in WITHOUT_DEVICE_IDLE:
                continue
            working[stream] = ticks
            removed = self.remove(stream, row, ticks)
            if running and any(removed):
                turned = scope if self.coincident else (running[0][1].stage, running[0][1].operation)
                resource = resource_of(Category.CUDA_WAIT, running)
                outer = row[6] if self.coincident else ""
                add(self.turned, (row[0], *turned, "gpu", resource, "", outer), removed)
        self.spend_beside(working, end - start)
        self.beside += (end - start) * (sum(map(is_busy, self.stacks.values())) > 1)
        for stream in self.threads_in_part():
            for category, ticks in self.view(stream, start, end):
                if ticks:
                    self.threads[(stream, *self.row(stream, category, running, self.scope(stream)))] += ticks

    def loop(self) -> tuple[int, int] | None:
        """From the first to the last mark; where an operation is called training_loop, from its first begin on."""
        first, last = self.loop_places()
        return (self.marks[first][0], self.marks[last][0]) if self.marks else None

    def loop_places(self) -> tuple[int, int]:
        """The places of the first and the last of the marks that count."""
        place = next((place for place, (_, name, _) in enumerate(self.marks) if name == TRAINING_LOOP), None)
        if place is None:
            return self.first_of(self.marks), len(self.marks) - 1
        counted = [place + n for n, mark in enumerate(self.marks[place:]) if mark[1] in (TRAINING_LOOP, "")]
        return counted[self.first_of([self.marks[n] for n in counted])], counted[-1]

    @staticmethod
    def first_of(marks: list[tuple[int, str, bool]]) -> int:
        """The place of the first mark, but that of resets before anything else is that of the last one of them."""
        first: int | None = None
        was_reset = False
        for place, (_, name, begins) in enumerate(marks):
            if first is None or was_reset:
                first = place
            was_reset = name == OF_RESET and not begins
            if (not begins and not was_reset) or name == TRAINING_LOOP:
                break
        return first or 0

    def transitions_in_loop(self) -> int:
        first, last = self.loop_places() if self.marks else (0, 0)
        left_out = sum(not first < marks <= last for marks in self.transitions_outside)
        return sum(self.transitions.values()) - left_out

    def outside_rows(self) -> dict[tuple[str, ...], int]:
        rows: Counter[tuple[str, ...]] = Counter()
        for start, end, ticks, category, resource, _ in self.outside:
            rows[self.loop_part(start, end), category, resource] += ticks
        return dict(rows)

    def loop_part(self, start: int, end: int) -> str:
        loop = self.loop()
        is_before = loop is None or end <= loop[0]
        return "before" if is_before else "after" if loop is not None and start >= loop[1] else "in"

    def purpose_rows(self) -> dict[tuple[str, ...], int]:
        rows = self.purposes.copy()
        for start, end, ticks, category, resource, purpose in self.outside:
            rows[NO_PHASE, purpose, NO_OPERATION, category, resource, self.loop_part(start, end)] += ticks
        return dict(+rows)

    def idle_rows(self) -> dict[tuple[int, Doing], int]:
        """By which devices work, if not all of them do; in the training loop, or always without one."""
        rows: Counter[tuple[int, Doing]] = Counter()
        first, last = self.loop() or (self.start, self.end)
        devices = sum(1 << device for device in {device for *_, device, work in self.work if is_on_device(work.kind)})
        for start, end, ticks, working, doing in self.idle:
            rows[working, doing] += ticks * (first <= start and end <= last and working != devices)
        return +rows

    def waited_in_loop(self, wait: tuple[str, str]) -> int:
        loop = self.loop()
        between = (
            ticks
            for start, end, ticks, waited in self.waited_outside
            if waited == wait and loop is not None and loop[0] <= start and end <= loop[1]
        )
        return self.waited_in_operations[wait] + sum(between)

    def charge(self, stream: int, statement: Record) -> None:
        """What recording this takes is spent by the thread from here on."""
        if not isinstance(statement, Begin | End):
            return
        frame = statement if isinstance(statement, Begin) else self.stacks[stream][-1]
        cost = next((self.costs[key] for key in keys_of_cost(frame) if key in self.costs), None)
        if cost is not None:
            parts = cost[isinstance(statement, End)]
            add(self.debts, stream, parts)
            self.charged = [self.charged[i] + parts[i] for i in BOUNDS]

    def remove(self, stream: int, row: tuple[str, ...], ticks: int) -> list[float]:
        """The thread spends what it owes in time that it owns, without which the process would have been faster."""
        debt = self.debts.get(stream, [0.0] * len(BOUNDS))
        removed = [min(owed, ticks) for owed in debt]
        self.debts[stream] = [debt[i] - removed[i] for i in BOUNDS]
        add(self.removed, row, removed)
        return removed

    def spend_beside(self, working: dict[int, int], length: int) -> None:
        """In the rest of the time threads spend what they owe beside another thread's work or in a wait."""
        for stream, debt in self.debts.items():
            spent = [min(owed, length - working.get(stream, 0)) for owed in debt]
            self.debts[stream] = [debt[i] - spent[i] for i in BOUNDS]
            self.uncorrectable = [self.uncorrectable[i] + spent[i] for i in BOUNDS]

    def corrected(self) -> dict[tuple[str, ...], tuple[float, ...]]:
        rows: dict[tuple[str, ...], list[float]] = {}
        for row, ticks in self.breakdown.items():
            add(rows, row, [ticks] * len(BOUNDS))
        for row, spent in self.removed.items():
            add(rows, row, [-ticks for ticks in spent])
        for row, spent in self.turned.items():
            add(rows, row, spent)
        return {row: tuple(ticks) for row, ticks in rows.items()}

    def begin_gap(self, stream: int, gap: Gap) -> None:
        """Rule 10: for how much of the gap the thread waits."""
        said = gap.said
        match category_of(self.stacks[stream]):
            case Category.PYTHON:
                gap.waiting, gap.queued = said.blocked, said.queued
            case Category.CUDA:
                gap.queued = said.queued
            case Category.WAIT if said.queued:
                gap.waiting, gap.queued = gap.end - gap.start - said.queued, said.queued
            case Category.SIMULATOR | Category.BACKEND | Category.NATIVE if not self.has_native_threads:
                helped = min(said.helped, said.blocked)
                gap.waiting, gap.queued = said.blocked - helped, said.queued - (said.helped - helped)
        if (gap.waiting or gap.queued) and stream in self.threads_in_part():
            self.gaps[stream] = gap
            is_wait = category_of(self.stacks[stream]) is Category.WAIT
            self.entered_waits[self.phase(), self.wait_name(stream)] += bool(gap.waiting) and not is_wait

    def no_core_until(self, stream: int, now: int) -> int:
        """For how many ticks the thread had no core."""
        gap = self.gaps.get(stream)
        return self.no_core[stream] + (0 if gap is None else gap.absent(gap.start, now)[0])

    def apply(self, stream: int, statement: Record, now: int) -> None:
        if isinstance(statement, Seen):
            return self.see(statement)
        stack = self.stacks.setdefault(stream, [])
        match statement:
            case Gap():
                self.begin_gap(stream, statement)
            case Absent():
                self.no_core[stream] = self.no_core_until(stream, now)
                self.gaps.pop(stream, None)
            case Progress():
                self.progress.append((now, statement, self.evaluated))
                self.mark(now, "")
            case Task():
                self.tasks.setdefault(statement.operation, []).append(statement)
            case Sample():
                elapsed = statement.times[0] if statement.times else now - self.sample_since.pop(stream, now)
                if not statement.times and operations_of(stack):
                    self.sample_since[stream] = now
                self.samples.append((len(self.progress), now, elapsed, statement))
            case Collective():
                ends = (
                    (statement.ticks, None)
                    if statement.waited_since is None
                    else (statement.waited_since, statement.ticks)
                )
                name = statement.name.partition(" ")[::2]
                self.collectives.append((*name, statement.sequence, statement.size, statement.called_at, *ends))
            case Memory():
                inside = self.ticks_in_operation(stream, now)
                self.memory.append((statement, *self.scope(stream), now, len(self.progress), inside))
            case Tagged(_, fmt.OtherTag.MESSAGE, (str(boundary), int(size))):
                key = (*self.scope(stream), boundary)
                self.messages[key] += 1
                self.message_bytes[key] += size
            case CpuTime():
                self.read_cpu_time(stream, statement.ns)
            case End():
                if stack[-1].kind is NameKind.OPERATION:
                    start, no_core = self.operation_starts.pop((stream, len(stack) - 1))
                    if not is_outside(operations_of(stack)):
                        took = now - start - (self.no_core_until(stream, now) - no_core)
                        self.durations.setdefault(self.own_scope(stream)[1:], []).append(took)
                frame = stack.pop()
                self.end_call(stream, len(stack), now)
                before = operations_of(stack)
                if frame.kind is NameKind.OPERATION and is_outside(before):
                    self.mark_outermost(now, [*before, frame.name], had_reset=stream in self.resets)
                    self.resets.discard(stream)
                self.open_phases = [other for other in self.open_phases if other is not frame]
                if frame.kind is NameKind.PHASE:
                    self.phases[frame.name] = (self.phases[frame.name][0], now)
            case Begin(kind=NameKind.BOUNDARY):
                self.enter(stream, stack, statement, now)
            case Begin():
                kind = "operation" if statement.kind is NameKind.OPERATION else "phase"
                self.events[statement.name if kind == "operation" and statement.name in ANYWHERE else kind] += 1
                before = operations_of(stack)
                is_outermost = (
                    statement.kind is NameKind.OPERATION and is_outside(before) and statement.name not in ANYWHERE
                )
                if is_outermost:
                    self.have_operated.add(stream)
                    self.sample_since[stream] = now
                if not boundaries_of(stack):
                    self.runs_python.add(stream)
                if is_outermost:
                    self.mark_outermost(now, [*before, statement.name], begins=True)
                is_reset = statement.kind is NameKind.OPERATION and statement.name == "reset"
                if is_reset and not is_outside(before) and outermost(before)[-1] == "simulation":
                    self.resets.add(stream)
                frame = replace(statement)  # an object of its own, so that `is` tells equal frames apart
                self.began[stream, len(stack)] = now
                stack.append(frame)
                if frame.kind is NameKind.OPERATION:
                    self.operation_starts[stream, len(stack) - 1] = now, self.no_core_until(stream, now)
                    part = self.unread[stream].setdefault(self.own_scope(stream), [0, 0, 0])
                    part[0] += not is_outside(operations_of(stack))
                if frame.kind is NameKind.PHASE:
                    self.open_phases.append(frame)
                    self.phases.setdefault(frame.name, (now, now))

    def ticks_in_operation(self, stream: int, now: int) -> int:
        """0 in none; a frame keeps the lower half of the time at which it began."""
        depths = [depth for depth, frame in enumerate(self.stacks[stream]) if frame.kind is NameKind.OPERATION]
        return (now - self.began[stream, depths[-1]]) % (1 << 32) if depths else 0

    def see(self, seen: Seen) -> None:
        """Rule 13."""
        if seen.ticks > self.end:
            return
        self.torn += not seen.frames
        thread = self.stacks.get(seen.thread, [])
        if not seen.frames or seen.thread not in self.recorded:
            return
        if category_of(thread) is not Category.PYTHON:
            return self.see_call(seen, thread)
        if not self.has_part(seen.thread):
            return
        place = (self.phase(), context_of(self.operations(seen.thread)), *self.scope(seen.thread))
        ticks, without_core = self.unseen.pop(place, 0), self.without_core.pop(place, 0)
        self.see_stack(self.place_of_stack(seen, Category.PYTHON), ticks - without_core)
        if without_core:
            self.see_stack(self.place_of_stack(seen, Category.NO_CORE), without_core)
        sums = self.lines.setdefault((*self.scope(seen.thread), *(places_of(seen) or [("", "", 0)])[-1]), [0, 0])
        sums[0] += 1
        sums[1] += ticks

    def line_rows(self) -> dict[tuple[str, str, str, str, int], tuple[int, ...]]:
        rows = {key: tuple(sums) for key, sums in self.lines.items()}
        for (*_, stage, operation), ticks in self.unseen.items():
            key = (stage, operation, "", "", 0)
            if ticks:
                stacks, seen_ticks = rows.get(key, (0, 0))
                rows[key] = (stacks, seen_ticks + ticks)
        return rows

    def place_of_stack(self, seen: Seen, category: Category, function: str = "") -> tuple[Any, ...]:
        operations = self.operations(seen.thread)
        has_part = not self.open_phases and is_outside(operations)
        doing = (self.phase(), purpose_of(operations).value, *self.scope(seen.thread), category.label)
        return (*doing, function, stack_text(places_of(seen))), has_part

    def see_stack(self, place: tuple[Any, ...], ticks: int) -> None:
        key, has_part = place
        sums = self.stack_times.setdefault((key, len(self.marks) if has_part else None), [0, 0])
        sums[0] += 1
        sums[1] += ticks

    def stack_rows(self) -> dict[tuple[Any, ...], tuple[int, ...]]:
        first, last = self.loop_places()
        rows: dict[tuple[Any, ...], tuple[int, ...]] = {}
        for ((phase, purpose, *rest), marks), sums in self.stack_times.items():
            part = ""
            if marks is not None:
                part = "before" if marks <= first else "after" if marks > last else "in"
            key = (phase, purpose, part, *rest)
            rows[key] = tuple(a + b for a, b in zip(rows.get(key, (0, 0)), sums, strict=True))
        return rows

    @staticmethod
    def function_of(stack: Stack) -> int:
        """The depth of the innermost native call, without those of CUDA; -1 outside of all."""
        depths = [
            depth for depth, frame in enumerate(stack) if frame.kind is NameKind.BOUNDARY and frame.category not in CUDA
        ]
        return max(depths, default=-1)

    def see_call(self, seen: Seen, stack: Stack) -> None:
        """Rule 14: the first stack that is seen in a native call says who made it."""
        depth = self.function_of(stack)
        if depth < 0:  # a CUDA call that Python makes itself
            depth = next((depth for depth, frame in enumerate(stack) if frame.kind is NameKind.BOUNDARY), -1)
        if depth < 0 or stack[depth].category is Category.PYTHON or (seen.thread, depth) in self.seen_calls:
            return
        function = function_label(stack[depth])
        category = stack[depth].category.label
        place = (*self.scope(seen.thread), category, function, *calling_frame(function, places_of(seen)))
        of_stack = self.place_of_stack(seen, stack[depth].category, function) if seen.thread == self.owner() else None
        self.seen_calls[seen.thread, depth] = (place, max(self.began[seen.thread, depth], self.start), of_stack)

    def end_call(self, stream: int, depth: int, now: int) -> None:
        if (stream, depth) in self.open_syncs:
            place, since = self.open_syncs.pop((stream, depth))
            self.syncs.setdefault(place, [0, 0])[1] += now - since
            called = self.function_of(self.stacks[stream][:depth])
            self.last_sync[stream] = place, since, called if called >= 0 else depth
        if (stream, depth) not in self.seen_calls:
            return
        site, since, of_stack = self.seen_calls.pop((stream, depth))
        synced, synced_since, called = self.last_sync.get(stream, ((), 0, -1))
        waited = bool(synced) and called == depth and synced_since >= since
        if waited:
            self.sync_lines.setdefault(synced, Counter())[site[4:]] += 1
        length = max(now - since, 1)
        stands_for = max(length, STACK_PERIOD)
        if of_stack:
            self.see_stack(of_stack, stands_for)
        sums = self.sites.get(site, [0, 0, 0, 0])
        added = (1, waited, stands_for / length, stands_for)
        self.sites[site] = [a + b for a, b in zip(sums, added, strict=True)]

    def sync_rows(self) -> dict[tuple[str, ...], tuple[Any, ...]]:
        rows = {}
        for place, (count, ticks) in self.syncs.items():
            lines = self.sync_lines.get(place, Counter())
            line, stacks = min(lines.items(), key=lambda each: (-each[1], each[0]), default=(("", "", 0), 0))
            if count or ticks:
                rows[place] = (count, ticks, *line, stacks, lines.total())
        return rows

    def site_rows(self) -> dict[tuple[Any, ...], tuple[float, ...]]:
        rows = {}
        for site, (stacks, waiting, calls, ticks) in self.sites.items():
            own = [sums for other, sums in self.sites.items() if other[:4] == site[:4]]
            shares = (calls / sum(sums[2] for sums in own), ticks / sum(sums[3] for sums in own))
            rows[site] = (stacks, waiting, *(round(share, 9) for share in shares), ticks)
        return rows

    def enter(self, stream: int, stack: Stack, frame: Begin, now: int) -> None:
        """A boundary entry; counts as a transition if the category changes."""
        self.events[frame.category.label] += 1
        self.crossings[function_label(frame)] += 1
        if frame.category is Category.WAIT:
            self.entered_waits[self.phase(), frame.name] += 1
        if frame.category in CUDA:
            self.cuda_calls[frame.name, frame.category is Category.CUDA_WAIT] += 1
        before = category_of(stack)
        if stream not in self.runs_python and not boundaries_of(stack):
            if frame.category is Category.PYTHON or frame.category in CUDA:
                before = category_of(self.stacks[self.owner()])
                self.has_native_threads = True
            else:
                self.runs_python.add(stream)
        if before.label != frame.category.label:
            transitions = self.evaluation_transitions if self.evaluates() else self.transitions
            transitions[(*self.scope(stream), before.label, frame.category.label)] += 1
            if not self.open_phases and is_outside(self.operations(stream)):
                self.transitions_outside.append(len(self.marks))
        if frame.category is Category.CUDA_WAIT and category_of(stack) is not Category.CUDA_WAIT:
            depth = self.function_of(stack)
            function = function_label(stack[depth]) if depth >= 0 else ""
            place = (*self.scope(stream), function, frame.name)
            self.syncs.setdefault(place, [0, 0])[0] += 1
            self.open_syncs[stream, len(stack)] = place, now
        self.began[stream, len(stack)] = now
        stack.append(frame)


def add(sums: dict[Any, list[float]], key: Any, values: Iterable[float]) -> None:
    sums[key] = [a + b for a, b in zip(sums.get(key, [0.0] * len(BOUNDS)), values, strict=True)]


def device_tables(twin: Twin) -> dict[str, Any]:
    """Counts hold all records; ticks hold what lies within the process's life."""
    sums: dict[tuple[int, DeviceWork], Counter[str]] = {}
    kernels: Counter[tuple[int, str, str]] = Counter()
    by_name: dict[tuple[int, str, str, str], Counter[str]] = {}
    on_host: dict[DeviceWork, Counter[str]] = {kind: Counter() for kind in (DeviceWork.CUPTI_WORK, DeviceWork.GAP)}
    for *_, device, work in twin.work:
        is_piece = work.start >= twin.counted_from
        if not is_piece and work.end <= twin.counted_from:
            continue
        found = Counter(count=is_piece, bytes=work.moved_bytes * is_piece)
        found["ticks"] = min(max(work.end, twin.start), twin.end) - min(max(work.start, twin.start), twin.end)
        if not is_on_device(work.kind):
            on_host[work.kind][work.name] += found["ticks"]
            continue
        kernels[device, work.stage, work.operation] += is_piece and work.kind is DeviceWork.KERNEL
        sums.setdefault((device, work.kind), Counter()).update(found)
        by_name.setdefault((device, work.stage, work.operation, work.name), Counter()).update(found)
    gpu = {}
    for device in sorted({device for device, _ in sums}):
        gpu[device] = {
            "busy_ticks": twin.busy[device],
            "communication_ticks": twin.communicating[device],
            "exposed_ticks": sum(ticks for key, ticks in twin.exposed_of.items() if key[0] == device),
        }
        for kind in (DeviceWork.KERNEL, DeviceWork.COPY, DeviceWork.MEMSET):
            for what in ("count", "ticks", "bytes"):
                gpu[device][f"{kind.name.lower()}_{what}"] = sums.get((device, kind), Counter())[what]
        del gpu[device]["kernel_bytes"]
    return {
        "devices": gpu,
        "device_operations": {key: (twin.busy_of[key], twin.exposed_of[key], count) for key, count in kernels.items()},
        "device_work": {key: (found["count"], found["ticks"], found["bytes"]) for key, found in by_name.items()},
        "cupti_work": dict(on_host[DeviceWork.CUPTI_WORK]),
        "gaps": dict(on_host[DeviceWork.GAP]),
    }


def sweep_twin(script: ProcessScript, since: int | None = None) -> dict[str, Any]:
    """What `rlscope._analysis.sweep` should find, in the same form but with tables as dicts from key to value."""
    twin = Twin(script, since)
    kinds = ["operation", "phase", *CALL_CATEGORIES]
    devices = device_tables(twin)
    works = ("kernel", "copy", "memset")
    counts = {work: sum(row[f"{work}_count"] for row in devices["devices"].values()) for work in works}
    corrected = twin.corrected() if script.costs is not None else {}
    return {
        "corrected": corrected,
        "uncorrectable": tuple(twin.uncorrectable),
        "start_ticks": twin.start,
        "end_ticks": twin.end,
        "breakdown": dict(twin.breakdown),
        "threads": dict(twin.threads),
        "phases": [(name, *span) for name, span in twin.phases.items()],
        "waits": {
            key: (twin.entered_waits[key], twin.waited_in_operations[key], twin.waited_in_loop(key), twin.waited[key])
            for key in twin.entered_waits.keys() | twin.waited.keys()
            if twin.entered_waits[key] or twin.waited[key]
        },
        "cpu_times": {} if twin.is_window else {key: tuple(row) for key, row in twin.cpu_times.items()},
        "messages": {} if twin.is_window else {key: (n, twin.message_bytes[key]) for key, n in twin.messages.items()},
        "durations": [] if twin.is_window else duration_rows(twin),
        "tasks": {name: task_row(tasks) for name, tasks in twin.tasks.items()},
        "samples": sample_rows(twin),
        "sample_tails": sample_tails(twin),
        "collectives": twin.collectives,
        "memory": memory_rows(twin),
        "memory_series": memory_series(twin),
        "lines": twin.line_rows() if script.stacks is not None else {},
        "torn_stacks": twin.torn,
        "sync_points": twin.sync_rows(),
        "call_sites": twin.site_rows(),
        "stack_times": twin.stack_rows(),
        "transitions": dict(twin.transitions),
        "evaluation_transitions": dict(twin.evaluation_transitions),
        "transitions_in_loop": twin.transitions_in_loop(),
        "events": {kind: twin.events[kind] for kind in (*kinds, *(each for each in ANYWHERE if twin.events[each]))}
        | counts,
        "crossings": dict(twin.crossings),
        "cuda_calls": dict(twin.cuda_calls),
        "outside": twin.outside_rows(),
        "purposes": twin.purpose_rows(),
        "idle": {(working, *doing): ticks for (working, doing), ticks in twin.idle_rows().items()},
        "loop": twin.loop(),
        "beside_ticks": twin.beside,
        "threads_in_operations": len(twin.have_operated),
        "trainings": trainings_summary(twin.progress),
    } | devices


def task_row(tasks: list[Task]) -> tuple[int, ...]:
    """Count, running, elapsed, median, 99th percentile, maximum."""
    count, *lengths = length_row([task.elapsed for task in tasks])
    return count, sum(task.running for task in tasks), *lengths


def length_row(lengths: list[int]) -> tuple[int, ...]:
    """Count, sum, median, 99th percentile, maximum."""
    if not lengths:
        return 0, 0, 0, 0, 0
    lengths = sorted(lengths)
    ranks = [math.ceil(len(lengths) * percent / 100) - 1 for percent in (50, 99)]
    rounded = [int(f"{lengths[rank]:b}"[:8].ljust(lengths[rank].bit_length(), "0"), 2) for rank in ranks]
    return len(lengths), sum(lengths), *rounded, lengths[-1]


def sample_rows(twin: Twin) -> dict[str, tuple[int, ...]]:
    rows = {}
    for name in {sample.name for *_, sample in twin.samples}:
        own = [
            (place, elapsed, sample)
            for place, (_, _, elapsed, sample) in enumerate(twin.samples)
            if sample.name == name
        ]
        versions = [sample.version for _, _, sample in own]
        newest = [max(before.version for *_, before in twin.samples[: place + 1]) for place, _, _ in own]
        staleness = [last - version for last, version in zip(newest, versions, strict=True)]
        discarded = [sample.tokens for _, _, sample in own if sample.discarded]
        rows[name] = (
            len(own), len(discarded), sum(sample.tokens for _, _, sample in own), sum(discarded),
            min(versions), max(versions), sum(staleness), max(staleness),
            *length_row([elapsed for _, elapsed, _ in own if elapsed]),
            sum(sample.times[0] - sample.times[1] for _, _, sample in own if sample.times),
        )  # fmt: skip
    return rows


def memory_rows(twin: Twin) -> dict[tuple[Any, ...], tuple[int, int]]:
    """A peak that is new belongs to an operation in which nine tenths of the time since the last look were."""
    used: dict[tuple[Any, ...], list[int]] = {}
    looks: dict[tuple[int, int], tuple[int, int]] = {}  # the last one: the most that ever was, and the time
    for memory, stage, operation, now, _, inside in twin.memory:
        place = memory.owner, memory.device
        peak, looked_at = looks.get(place, (memory.peak, now))
        is_its = memory.peak > peak and 10 * inside >= 9 * (now - looked_at)
        used.setdefault((*place, stage, operation), []).append(max(memory.used, memory.peak if is_its else 0))
        looks[place] = max(peak, memory.peak, memory.used), now
    return {key: (len(found), max(found)) for key, found in used.items()}


def memory_series(twin: Twin) -> dict[tuple[int, int], tuple[int, list[tuple[int, int, int]]]]:
    series: dict[tuple[int, int], tuple[int, list[tuple[int, int, int]]]] = {}
    for memory, _, _, now, reports, _ in twin.memory:
        place = memory.owner, memory.device
        peak, points = series.get(place, (0, []))
        series[place] = max(peak, memory.peak, memory.used), [*points, (now, memory.used, reports)]
    return series


def sample_tails(twin: Twin) -> list[tuple[int, ...]]:
    tails: list[tuple[int, ...]] = []
    for reports in sorted({place for place, *_ in twin.samples}):
        ends = [now for place, now, _, _ in twin.samples if place == reports]
        start, end = ends[-(-9 * len(ends) // 10) - 1], ends[-1]
        tails.append((reports, len(ends), start, end, worked_between(twin, start, end)))
    return tails


def worked_between(twin: Twin, start: int, end: int) -> int:
    on_devices = [work for *_, work in twin.work if is_on_device(work.kind)]
    works = [work for work in on_devices if work.start < end and work.end > start]
    borders = sorted({start, end, *(min(max(t, start), end) for work in works for t in (work.start, work.end))})
    return sum(
        right - left
        for left, right in pairwise(borders)
        if any(work.start <= left and right <= work.end for work in works)
    )


def trainings_summary(records: list[tuple[int, Progress, int]]) -> list[dict[str, int | None]]:
    """A baseline begins a training, and so does a report of fewer timesteps than the one before."""
    begins = [
        place
        for place, (_, record, _) in enumerate(records)
        if place == 0 or record.is_baseline or record.timesteps < records[place - 1][1].timesteps
    ]
    return [training_summary(records[begin:end]) for begin, end in pairwise([*begins, len(records)])]


def training_summary(records: list[tuple[int, Progress, int]]) -> dict[str, int | None]:
    totals = [record.total_timesteps for _, record, _ in records if record.total_timesteps]
    return {
        "iterations": sum(not record.is_baseline for _, record, _ in records),
        "first_ticks": records[0][0],
        "first_timesteps": records[0][1].timesteps,
        "last_ticks": records[-1][0],
        "last_timesteps": records[-1][1].timesteps,
        "total_timesteps": totals[-1] if totals else 0,
        "baseline_timesteps": records[0][1].timesteps if records[0][1].is_baseline else None,
        "evaluation_ticks": records[-1][2] - records[0][2],
    }


def idle_sums(found: Swept) -> dict[tuple[Any, ...], int]:
    """An operation may be called "(none)", and then two rows read the same."""
    sums: Counter[tuple[Any, ...]] = Counter()
    for working, row in found.idle:
        sums[(working, *row[:5])] += row.time
    return dict(sums)


def duration_rows(twin: Twin) -> list[tuple[Any, ...]]:
    """Of operations that ended 16 times: sums of as few durations each as 32 sums hold."""
    rows = []
    for key, ticks in twin.durations.items():
        if len(ticks) >= 16:
            width = next(1 << power for power in numbers_from() if len(ticks) <= 32 << power)
            sums = [sum(ticks[start : start + width]) for start in range(0, len(ticks), width)]
            rows.append((*key[:2], len(ticks), width, sums))
    return sorted(rows)


def as_dicts(found: Swept) -> dict[str, Any]:
    """What the C++ sweep found, in the form of `sweep_twin`."""
    tables: dict[str, Any] = {
        name: {row[:-1]: row[-1] for row in getattr(found, name)}
        for name in (
            "breakdown",
            "threads",
            "transitions",
            "evaluation_transitions",
            "cuda_calls",
            "outside",
            "purposes",
        )
    }
    tables["idle"] = idle_sums(found)
    tables["waits"] = {row[:2]: row[2:] for row in found.waits}
    tables["cpu_times"] = {row[:3]: row[3:] for row in found.cpu_times}
    tables["messages"] = {row[:3]: row[3:] for row in found.messages}
    tables["durations"] = sorted((*row[:4], list(array("Q", row.sums))) for row in found.durations)
    tables["tasks"] = {row[0]: row[1:] for row in found.tasks}
    tables["samples"] = {row[0]: row[1:] for row in found.samples}
    tables["sample_tails"] = [tuple(row) for row in found.sample_tails]
    tables["collectives"] = [tuple(row) for row in found.collectives.rows()]
    tables["sync_points"] = {row[:4]: tuple(row[4:]) for row in found.sync_points}
    tables["call_sites"] = {
        row[:7]: (*row[7:9], round(row.share_of_calls, 9), round(row.share_of_ticks, 9), row.ticks)
        for row in found.call_sites
    }
    stacks: list[str] = []
    for row in found.stacks:
        frame = stack_text([(row.function, row.file, row.line)])
        stacks.append(frame if row.caller is None else f"{stacks[row.caller]} {frame}")
    tables["stack_times"] = {
        (*row[:7], "" if row.stack is None else stacks[row.stack]): row[8:] for row in found.stack_times
    }
    tables["lines"] = {row[:5]: row[5:] for row in found.lines}
    tables["memory"] = {row[:4]: row[4:] for row in found.memory}
    tables["memory_series"] = {row[:2]: (row.peak_bytes, list(row.points())) for row in found.memory_series}
    devices = [row._asdict() for row in found.devices]
    tables["devices"] = {row.pop("device"): row for row in devices}
    tables["device_operations"] = {row[:3]: row[3:] for row in found.device_operations}
    tables["device_work"] = {row[:4]: row[4:] for row in found.device_work}
    correction = found.correction
    corrected = corrected_parts(found) if correction else {}
    tables["corrected"] = {row: tuple(part / 256 for part in parts) for row, parts in corrected.items()}
    tables["uncorrectable"] = tuple(part / 256 for part in correction.uncorrectable) if correction else (0, 0, 0)
    tables["trainings"] = [row._asdict() for row in found.trainings]
    counts = ("events", "crossings", "cupti_work", "gaps", "loop", "beside_ticks", "threads_in_operations")
    alone = ("start_ticks", "end_ticks", "phases", "torn_stacks", "transitions_in_loop", *counts)
    return {name: getattr(found, name) for name in alone} | tables
