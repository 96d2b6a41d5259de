"""This file declares what the sweep finds in a process file: the rows and sums that `rlscope._analysis.sweep` returns.

C++ has the named tuples as structs of the same names: see swept_types.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rlscope.analysis.detail.swept import SweptDetail
from rlscope.analysis.devices.swept import SweptProcessIdle
from rlscope.analysis.lines.swept import (
    SweptCallSite,
    SweptLine,
    SweptStack,
    SweptStackTime,
    SweptSyncPoint,
)
from rlscope.analysis.memory.swept import SweptMemory, SweptMemorySeries
from rlscope.analysis.ranks.swept import SweptCollectives
from rlscope.analysis.swept_types import (
    ByteCount,
    CategoryLabel,
    Column64,
    Count,
    Label,
    Nanoseconds,
    Number,
    PartLabel,
    ResourceLabel,
    SymbolLabel,
    Text,
    ThreadId,
    TickParts,
    Ticks,
    Version,
)


class RowKey(NamedTuple):
    """This is what tells the rows of a process's breakdown apart."""

    phase: str
    stage: str
    operation: str
    category: str
    resource: str
    ready_in: str = ""  # where a thread would run that has no core
    outer_stage: str = ""  # which one a callback has left, or any other operation of a purpose


class SweptTime(NamedTuple):
    """The ticks of one row of the breakdown."""

    phase: Label
    stage: Label
    operation: Label
    category: CategoryLabel
    resource: ResourceLabel
    ready_in: Label
    outer_stage: Label
    ticks: Ticks

    @property
    def key(self) -> RowKey:
        """Return the row without its ticks."""
        return RowKey(*self[:-1])


class SweptPurpose(NamedTuple):
    """The ticks of a process for one purpose.

    Attributes:
        phase: The phase of the process.
        purpose: What the operations were for; `training` if they say nothing of it.
        stage: The stage.
        category: The layer.
        resource: The hardware at work.
        part: Of time outside of operations and phases the `LoopPart`; else empty.
        ticks: The ticks; over all rows they sum to those of the breakdown.
    """

    phase: Label
    purpose: Label
    stage: Label
    category: CategoryLabel
    resource: ResourceLabel
    part: Label
    ticks: Ticks


class SweptThreadTime(NamedTuple):
    """The ticks of one row of a thread's own breakdown; `thread` is its number in the process."""

    thread: Number
    phase: Label
    stage: Label
    operation: Label
    category: CategoryLabel
    resource: ResourceLabel
    ready_in: Label
    outer_stage: Label
    ticks: Ticks


class SweptTransition(NamedTuple):
    """This says how often a stage's operation went from one category into another."""

    stage: Label
    operation: Label
    from_category: CategoryLabel
    to_category: CategoryLabel
    entries: Count


class SweptPhase(NamedTuple):
    """A named phase: its first begin and its last end."""

    phase: Label
    start_ticks: Ticks
    end_ticks: Ticks


class SweptWait(NamedTuple):
    """This is what waited in one boundary while this was the process's phase.

    Attributes:
        phase: The phase of the process.
        boundary: The name of the boundary, and behind a space the channel that it waited for, if it has one.
        entries: How often any thread entered it.
        in_operations_ticks: The ticks in which the process waited in an operation.
        in_loop_ticks: The ticks in which it waited in operations, or between them in the training loop.
        ticks: All ticks in which it waited; over all rows they sum to the breakdown's category `wait`.
    """

    phase: Label
    boundary: Label
    entries: Count
    in_operations_ticks: Ticks
    in_loop_ticks: Ticks
    ticks: Ticks


class SweptTask(NamedTuple):
    """An operation of coroutines or generators.

    Attributes:
        operation: Its name.
        ended: How many of them ended.
        running_ticks: For how long they ran, summed.
        elapsed_ticks: For how long they were open, summed.
        median_ticks: The median of the ticks for which each was open, rounded down by less than 1 %.
        p99_ticks: The 99th percentile, rounded down in the same way.
        longest_ticks: The maximum.
    """

    operation: Label
    ended: Count
    running_ticks: Ticks
    elapsed_ticks: Ticks
    median_ticks: Ticks
    p99_ticks: Ticks
    longest_ticks: Ticks


class SweptDuration(NamedTuple):
    """This is how long an operation took, in the order in which it ended.

    Attributes:
        stage: The stage of the operation.
        operation: Its name.
        ends: How often it ended.
        width: So many durations after each other are one sum; the last sum may be of fewer.
        sums: At most 32 sums of durations, in ticks.
    """

    stage: Label
    operation: Label
    ends: Count
    width: Count
    sums: Column64


class SweptCpuTime(NamedTuple):
    """This is how long threads were in an operation, in no inner one, as far as their CPU time was read.

    Attributes:
        phase: The phase of the process.
        stage: Its stage.
        operation: Its name, or that of no operation.
        begins: How often it began.
        ticks: For how long threads were in it.
        cpu_ns: For how long these were on a CPU meanwhile.
    """

    phase: Label
    stage: Label
    operation: Label
    begins: Count
    ticks: Ticks
    cpu_ns: Nanoseconds


class SweptSample(NamedTuple):
    """The samples of one name.

    Attributes:
        name: What they were reported as.
        complete: How many were.
        discarded: How many of these were discarded.
        tokens: The tokens of all.
        discarded_tokens: The tokens of those that were discarded.
        oldest_version: The oldest version of the policy that made one.
        newest_version: The newest.
        staleness: How far the newest version that any report had named was ahead of a sample's own, summed.
        most_staleness: The maximum.
        timed: Of how many it is known when they were begun; what follows is about these.
        elapsed_ticks: For how long they were made, summed.
        median_ticks: The median, rounded down by less than 1 %.
        p99_ticks: The 99th percentile, rounded down in the same way.
        longest_ticks: The maximum.
        queue_ticks: For how long their tasks were in no operation that encloses no other.
    """

    name: Label
    complete: Count
    discarded: Count
    tokens: Count
    discarded_tokens: Count
    oldest_version: Version
    newest_version: Version
    staleness: Count
    most_staleness: Count
    timed: Count
    elapsed_ticks: Ticks
    median_ticks: Ticks
    p99_ticks: Ticks
    longest_ticks: Ticks
    queue_ticks: Ticks


class SweptMessage(NamedTuple):
    """This is what was read from or written to a pipe or socket in an operation.

    Attributes:
        stage: The stage of the operation.
        operation: Its name, or that of no operation.
        boundary: The function that read or wrote, and behind a space the channel.
        messages: How often it did.
        message_bytes: How many bytes.
    """

    stage: Label
    operation: Label
    boundary: Label
    messages: Count
    message_bytes: ByteCount


class SweptSampleTail(NamedTuple):
    """The time from when 90 % of the samples between two reports of progress were complete until all were.

    `reports` is how many reports came before; in `worked_ticks` a device worked for the process.
    """

    reports: Count
    samples: Count
    start_ticks: Ticks
    end_ticks: Ticks
    worked_ticks: Ticks


class SweptOutside(NamedTuple):
    """Ticks in no operation and no phase: `before` the training loop, `in` it or `after` it."""

    part: PartLabel
    category: CategoryLabel
    resource: ResourceLabel
    ticks: Ticks


class SweptCudaCall(NamedTuple):
    """A function of CUDA, whether it waits for the device, and how often it was called."""

    name: Label
    waits: bool
    calls: Count


class SweptDevice(NamedTuple):
    """This is what a device did for the process. No instant counts twice in the first three ticks; others are sums."""

    device: Number  # CUDA's number in the process
    busy_ticks: Ticks
    communication_ticks: Ticks  # some work was communication
    exposed_ticks: Ticks  # of these, all was
    kernel_count: Count
    kernel_ticks: Ticks
    copy_count: Count
    copy_ticks: Ticks
    copy_bytes: ByteCount
    memset_count: Count
    memset_ticks: Ticks
    memset_bytes: ByteCount


class SweptDeviceOperation(NamedTuple):
    """This is what an operation launched on a device; the busy and exposed ticks of a device sum to its own."""

    device: Number
    stage: Label
    operation: Label
    busy_ticks: Ticks
    exposed_ticks: Ticks
    kernels: Count


class SweptDeviceWork(NamedTuple):
    """The pieces of work of one name that an operation launched on a device."""

    device: Number
    stage: Label
    operation: Label
    name: SymbolLabel
    pieces: Count
    ticks: Ticks
    moved_bytes: ByteCount


class SweptStream(NamedTuple):
    """A thread: its number in the process, the system's id of it, and the events that it began."""

    thread: Number
    thread_id: ThreadId
    events: Count


class SweptTraining(NamedTuple):
    """The reports of progress of a training: how many iterations there were, what the first and the last report said.

    A baseline begins one, and so does a report of fewer timesteps than the one before.
    """

    iterations: Count
    first_ticks: Ticks
    first_timesteps: Count
    last_ticks: Ticks
    last_timesteps: Count
    total_timesteps: Count
    baseline_timesteps: Count | None
    evaluation_ticks: Ticks  # from the first report to the last, in the phase `evaluation`


class PartBounds(NamedTuple):
    """The least, the expected and the most that something may be, in parts of a tick: 256 to the tick."""

    least: TickParts
    expected: TickParts
    most: TickParts


class SweptOverhead(NamedTuple):
    """This is what recording added to one row of the breakdown, which may have several of these."""

    phase: Label
    stage: Label
    operation: Label
    category: CategoryLabel
    resource: ResourceLabel
    outer_stage: Label
    parts: PartBounds

    @property
    def key(self) -> RowKey:
        """Return the row of the breakdown."""
        return RowKey(*self[:5], outer_stage=self.outer_stage)


class SweptCorrection(NamedTuple):
    """This is what correction by costs changes.

    Attributes:
        removed: What is taken off the breakdown.
        turned: What of that stays all the same, as time of the devices alone.
        uncorrectable: The overhead that no time was found for.
        charged: How many events have a cost, by the most exact key that their cost may have.
        uncalibrated: How many have none, by the same.
    """

    removed: list[SweptOverhead]
    turned: list[SweptOverhead]
    uncorrectable: PartBounds
    charged: dict[Text, Count]
    uncalibrated: dict[Text, Count]


@dataclass(frozen=True, kw_only=True)
class Swept:
    """This is what the sweep found in a process file.

    Attributes:
        start_ticks: Where the process's wall time begins.
        end_ticks: Where it ends.
        last_record_ticks: When the last record was written, of any thread or of work of a device.
        dropped_records: How many records of threads could not be written.
        dropped_device_records: How many of devices could not.
        misnested_operations: How many operations were closed by the end of another one.
        unresolved_launches: How many pieces of device work were launched by a call that is not known.
        why: What is missing, one sentence each; empty if nothing is.
        breakdown: The process's time; its ticks sum to `end_ticks - start_ticks`.
        purposes: The process's time by what it was for.
        threads: Each thread's own view; empty unless asked for.
        transitions: Those outside the phase `evaluation`.
        evaluation_transitions: Those in it.
        transitions_in_loop: How many of those outside are in operations and phases, or between them in the loop.
        events: How many events of each kind began, and pieces of device work. Collections of garbage are a kind of
            their own, and no operations.
        crossings: How often each boundary was entered; a wait's name is without its channel.
        phases: The named phases, by start.
        waits: What the process waited in.
        tasks: The operations of coroutines and generators, in alphabetical order.
        cpu_times: How long threads were in operations, and on a CPU meanwhile; empty for a window.
        durations: How long operations took each time, of those that ended 16 times or more; empty for a window.
        samples: The samples that were reported, in alphabetical order of their names.
        messages: What was read from and written to pipes and sockets; empty for a window.
        sample_tails: The tail of each iteration with samples.
        collectives: The calls of communicators.
        lines: The time in Python by line, those with most first; their ticks sum to those of category python in
            `breakdown`. Empty where stacks were not looked at.
        frames: The same time by the functions that were open, without what is of no stack. Only with `borders`.
        memory: The most memory that was in use, by operation.
        memory_series: Memory over time.
        sync_points: The calls of CUDA that waited for a device, those that took longest first.
        call_sites: The lines that made native calls; empty where stacks were not looked at.
        stacks: The stacks that were seen, and those that called them.
        stack_times: What the process did where they were seen; in Python and without a core there the ticks sum to
            those of lines, without what is of no stack.
        torn_stacks: How many stacks changed while they were read, and so are none of these.
        outside: The time in no operation and no phase.
        loop: The ticks at which the training loop begins and ends; None if nothing shows where it is.
        beside_ticks: Ticks in which two or more threads were busy at once: in an operation of its own, and not waiting
            for another thread.
        threads_in_operations: How many threads had any operation of their own.
        cuda_calls: The calls of CUDA.
        devices: The devices that worked for the process.
        device_operations: What launched their work.
        device_work: What their work was.
        idle: What the process did in its loop, or all its life without one, while some or all of them did nothing. No
            row is in a tail of samples, for which `device_idle` is asked. Empty without devices.
        cupti_work: Ticks of CUPTI's and the driver's own work on the host, by name.
        gaps: Ticks in which work of devices was not recorded, by reason.
        trainings: What was reported of progress, in order of time.
        correction: What correction changes; None without costs.
        detail: Time by function, in bins and by iteration; None without borders of bins.
        properties: What the process said of itself; the values may be anything that JSON has.
        chunk_change_ticks: What changing chunks took.
        streams: The threads.
    """

    start_ticks: int
    end_ticks: int
    last_record_ticks: int
    dropped_records: int
    dropped_device_records: int
    misnested_operations: int
    unresolved_launches: int
    why: tuple[str, ...]
    breakdown: list[SweptTime]
    purposes: list[SweptPurpose]
    threads: list[SweptThreadTime]
    transitions: list[SweptTransition]
    evaluation_transitions: list[SweptTransition]
    transitions_in_loop: int
    events: dict[str, int]
    crossings: dict[str, int]
    phases: list[SweptPhase]
    waits: list[SweptWait]
    tasks: list[SweptTask]
    cpu_times: list[SweptCpuTime]
    durations: list[SweptDuration]
    samples: list[SweptSample]
    messages: list[SweptMessage]
    sample_tails: list[SweptSampleTail]
    collectives: SweptCollectives
    lines: list[SweptLine]
    memory: list[SweptMemory]
    memory_series: list[SweptMemorySeries]
    sync_points: list[SweptSyncPoint]
    call_sites: list[SweptCallSite]
    stacks: list[SweptStack]
    stack_times: list[SweptStackTime]
    torn_stacks: int
    outside: list[SweptOutside]
    loop: tuple[int, int] | None
    beside_ticks: int
    threads_in_operations: int
    cuda_calls: list[SweptCudaCall]
    devices: list[SweptDevice]
    device_operations: list[SweptDeviceOperation]
    device_work: list[SweptDeviceWork]
    idle: list[SweptProcessIdle]
    cupti_work: dict[str, int]
    gaps: dict[str, int]
    trainings: list[SweptTraining]
    correction: SweptCorrection | None
    detail: SweptDetail | None
    properties: dict[str, object]
    chunk_change_ticks: int
    streams: list[SweptStream]

    @property
    def complete(self) -> bool:
        """Return whether nothing is known to be missing."""
        return not self.why

    @property
    def communicates(self) -> bool:
        """Return whether it called communicators, or its devices communicated."""
        return bool(self.collectives.name_ids) or any(device.communication_ticks for device in self.devices)
