"""This file defines the rows of an analysis: one class per table, with what its columns mean.

Seconds of the run count from the start of its first process. What is not known is None.
"""

from __future__ import annotations

from rlscope.analysis.rows import Row


class ProcessRow(Row):
    """A process.

    Attributes:
        process: A name that is unique in the trace.
        machine: The name of its machine.
        pid: Its number on the machine.
        parent_pid: That of its parent, if that was recorded.
        parent: Its parent's name, if that was recorded.
        role: `main`, `worker` or `infrastructure`.
        exit_status: Negative if a signal ended it.
        complete: Nothing of it is known to be missing.
        start_s: When it started.
        end_s: When it ended.
        wall_s: How long it lived.
        corrected_wall_s: The same without what recording added; None without a correction.
        corrected_wall_low_s: The lower end of its interval.
        corrected_wall_high_s: The upper end.
        uncorrectable_s: The overhead that could not be removed; None without a correction.
        iterations: How many it reported.
        threads_in_operations: How many threads had any operation of their own.
        beside_s: Seconds in which two or more of these were busy: in one, and not waiting for another thread.
    """

    process: str
    machine: str
    pid: int
    parent_pid: int | None
    parent: str | None
    role: str
    exit_status: int | None
    complete: bool
    start_s: float
    end_s: float
    wall_s: float
    corrected_wall_s: float | None
    corrected_wall_low_s: float | None
    corrected_wall_high_s: float | None
    uncorrectable_s: float | None
    iterations: int
    threads_in_operations: int
    beside_s: float


class TrainingRow(Row):
    """A training of a process. One begins where a library says so, or where fewer timesteps are reported than before.

    Attributes:
        process: The process.
        training: Its number there, from 1.
        iterations: How many it reported.
        timesteps: Those made in it, as far as it was recorded.
        total_timesteps: How far it is to go, counted as the program counts; None if unknown.
        seconds: From its first report to its last, without evaluation.
    """

    process: str
    training: int
    iterations: int
    timesteps: int
    total_timesteps: int | None
    seconds: float


class BreakdownRow(Row):
    """Time of one kind. Of a process the seconds sum to its `wall_s`, the corrected ones to its `corrected_wall_s`.

    Attributes:
        process: The process.
        phase: Its phase, `(none)` outside all.
        stage: The stage, `(none)` outside all.
        operation: The innermost operation, `(none)` outside all.
        category: The layer of the stack.
        resource: `cpu`, `cpu+gpu`, `gpu`, `cpu+communication`, `communication` or `idle`.
        ready_in: Of category `no_core` the one in which the thread would run if it had a core; else empty.
        outer_stage: Of what is done in a callback, and in no stage there: the stage in the middle of which the callback
            was called, as which published figures count it; else empty.
        seconds: How long.
        corrected_seconds: The same without what recording added; None without a correction.
        corrected_low_s: The lower end of its interval.
        corrected_high_s: The upper end.
    """

    process: str
    phase: str
    stage: str
    operation: str
    category: str
    resource: str
    ready_in: str
    outer_stage: str
    seconds: float
    corrected_seconds: float | None = None
    corrected_low_s: float | None = None
    corrected_high_s: float | None = None


class OutsideRow(Row):
    """Time in no operation and no phase: `before` the training loop, `in` it or `after` it."""

    process: str
    part: str
    category: str
    resource: str
    seconds: float


class ThreadRow(Row):
    """A thread's own view: its number in the process, and as in `BreakdownRow`. The seconds sum to its part in it."""

    process: str
    thread: int
    phase: str
    stage: str
    operation: str
    category: str
    resource: str
    ready_in: str
    outer_stage: str
    seconds: float


class PhaseRow(Row):
    """A phase of a process, `(none)` included.

    Attributes:
        process: The process.
        phase: The phase.
        start_s: Its first begin.
        end_s: Its last end.
        wall_s: Time in which it was the process's phase.
        cpu_s: Of that, time in which the CPU worked.
        gpu_s: Of that, time in which a device worked for the process: an upper bound where processes share it.
        wait_s: Of that, time in which the process waited.
    """

    process: str
    phase: str
    start_s: float
    end_s: float
    wall_s: float
    cpu_s: float
    gpu_s: float
    wait_s: float


class WaitRow(Row):
    """This is what a process waited in.

    Attributes:
        process: The process.
        phase: Its phase.
        function: The function that waited.
        stream: The channel that it waited for, "" if it was none, `file` if it was a file.
        kind: What it waited for, where that is known: `disk`, `pipe`, `lock`, `process`, `network`, `communication`,
            `timer` or `events`; else "".
        count: How often it was entered.
        wait_s: How long the process waited; over all rows, its time of category `wait`.
        in_operations_s: Of that, in any operation.
        in_loop_s: Of that, in the training loop as everywhere: in operations and phases, but for evaluation beside
            training, and between them.
    """

    process: str
    phase: str
    function: str
    stream: str
    kind: str
    count: int
    wait_s: float
    in_operations_s: float
    in_loop_s: float


class CpuTimeRow(Row):
    """Processor time of an operation: of the threads that were in it, and in no inner one.

    Attributes:
        process: The process.
        phase: The phase of the process, or `(none)`.
        stage: The stage.
        operation: The operation; `(none)` for the time of these threads in none.
        count: How often it began.
        seconds: For how long threads were in it.
        cpu_s: For how long these threads were on a CPU meanwhile. Their clocks are read every 0.4 to 16 ms, and each
            operation has of that what it has of the time in which the thread ran. Threads that work for them, such as a
            backend's, are not in it.
    """

    process: str
    phase: str
    stage: str
    operation: str
    count: int
    seconds: float
    cpu_s: float


class TaskRow(Row):
    """An operation of coroutines or generators that were suspended inside it.

    Attributes:
        process: The process.
        operation: The operation.
        count: How many of them ended.
        running_s: For how long they ran, summed.
        elapsed_s: For how long they were open, summed.
        elapsed_p50_s: The median of the times that each was open, rounded down by less than 1 %.
        elapsed_p99_s: The 99th percentile, rounded down in the same way.
        elapsed_max_s: The maximum.
    """

    process: str
    operation: str
    count: int
    running_s: float
    elapsed_s: float
    elapsed_p50_s: float
    elapsed_p99_s: float
    elapsed_max_s: float


class DependencyRow(Row):
    """A wait of a process for another one, `on`, by the channel between them, its `stream`.

    `count` of calls and `wait_s` are split by how often each of several others sent or received.
    """

    process: str
    phase: str
    on: str
    stream: str
    count: float
    wait_s: float


class TransitionRow(Row):
    """This says how often a stage's operation went from one category into another, also per iteration and timestep
    of the run.

    Transitions of evaluation are left out, as in `Analysis.evaluation_s`.
    """

    process: str
    stage: str
    operation: str
    from_: str
    to: str
    count: int
    per_iteration: float | None
    per_timestep: float | None


class CallRow(Row):
    """A function that an operation called in a layer. Of a process the seconds, as recorded, sum to its `wall_s`.

    Attributes:
        process: The process.
        stage: The stage of the operation.
        operation: The operation that was innermost.
        category: The layer.
        function: The name. It is empty for Python outside any recorded call.
        count: How many calls began, on any thread.
        seconds: The process's time in it.
    """

    process: str
    stage: str
    operation: str
    category: str
    function: str
    count: int
    seconds: float


class IterationRow(Row):
    """An iteration lasts from one report of progress of a process to the next.

    Attributes:
        process: The process.
        iteration: Its number in the process, from 0.
        start_s: When it began.
        seconds: How long it took.
    """

    process: str
    iteration: int
    start_s: float
    seconds: float


class MachineRow(Row):
    """A machine, from one start of it to the next.

    Attributes:
        machine: Its name.
        boot_id: 32 hexadecimal digits.
        processes: How many of it are in the trace.
        placed: How they were placed on the time line. `reference`: times are those of its clock. `measured`: times were
            moved by the offset that was measured. `own clock`: the offset is not known.
        ahead_s: How far its clock was ahead.
        error_s: The most by which its processes are misplaced.
        drift_ppm: How much faster its clock runs; 0 if too little to be measured.
        unanswered: How many processes asked for the time and had no answer.
    """

    machine: str
    boot_id: str
    processes: int
    placed: str
    ahead_s: float | None
    error_s: float | None
    drift_ppm: float
    unanswered: int


class CounterRow(Row):
    """A hardware counter while work ran that an operation launched.

    A row with operation "" is of the whole stage, one with stage "" too of the process, and one with operation
    `(unattributed)` and process "" of samples in which no recorded work ran.

    Attributes:
        process: The process.
        device: The device's number in the trace.
        stage: The stage.
        operation: The operation.
        metric: The counter.
        unit: Its unit.
        while_working: Its value while work of the operation ran; None for an amount.
        while_open: Of a rate, its value over the seconds of the operation in the breakdown.
        total: Of an amount, its total.
        busy_s: Seconds in samples on which this rests.
        samples: How many samples these are.
    """

    process: str
    device: int
    stage: str
    operation: str
    metric: str
    unit: str
    while_working: float | None
    while_open: float | None
    total: float | None
    busy_s: float
    samples: int

    @property
    def value(self) -> float | None:
        """Return the value to show if it is to be one: while work ran, of amounts the total."""
        return self.total if self.while_working is None else self.while_working
