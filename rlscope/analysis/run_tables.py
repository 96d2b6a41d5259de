"""This file defines the tables of a run, and what else is known of it: each is declared once.

The document of `--json`, its schema, the documentation's list of tables, what pages shorten, and Parquet files follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic

from rlscope.analysis.account.account import AccountRow, account_rows
from rlscope.analysis.account.owner_path import OwnerPath, owner_path
from rlscope.analysis.correction.corrected import AppliedCorrection
from rlscope.analysis.correction.costs import Bounds
from rlscope.analysis.counters.runs import CounterRuns, Counters
from rlscope.analysis.devices.idle import device_idle_rows, loop_busy_s
from rlscope.analysis.devices.launches import launch_rows
from rlscope.analysis.devices.rows import (
    DeviceIdleRow,
    DeviceShareRow,
    DeviceSwitchRow,
    DeviceTimelineRow,
    DeviceWorkRow,
    GpuOperationRow,
    GpuRow,
    LaunchRow,
)
from rlscope.analysis.devices.timeline import device_timeline_rows
from rlscope.analysis.devices.work import device_work_rows, gpu_operation_rows, gpu_rows
from rlscope.analysis.hang.hang import Hang
from rlscope.analysis.lines.functions import FunctionRow, function_rows
from rlscope.analysis.lines.own_lines import without_stacks
from rlscope.analysis.lines.possible_evaluations import PossibleEvaluationRow, possible_evaluation_rows
from rlscope.analysis.lines.tables import CallSiteRow, LineRow, SyncPointRow, call_site_rows, line_rows, sync_point_rows
from rlscope.analysis.machines import CoreUse, core_use
from rlscope.analysis.memory.tables import MemoryGrowthRow, MemoryRow, memory_growth_rows, memory_rows
from rlscope.analysis.ranks.rows import CollectiveRow, DeviceRankRow, RankRow, StragglerRow
from rlscope.analysis.ranks.stragglers import straggler_rows
from rlscope.analysis.ranks.tables import collective_rows, device_rank_rows, rank_rows
from rlscope.analysis.rows import RowT
from rlscope.analysis.run import Run
from rlscope.analysis.table import Table, Tables, fact
from rlscope.analysis.table_rows import (
    BreakdownRow,
    CallRow,
    CounterRow,
    CpuTimeRow,
    DependencyRow,
    IterationRow,
    MachineRow,
    OutsideRow,
    PhaseRow,
    ProcessRow,
    TaskRow,
    ThreadRow,
    TrainingRow,
    TransitionRow,
    WaitRow,
)
from rlscope.analysis.tables.breakdown import breakdown_rows, thread_rows, transition_rows
from rlscope.analysis.tables.calls import call_rows, cpu_time_rows, iteration_rows, task_rows
from rlscope.analysis.tables.crossings import CrossingRow, crossing_rows
from rlscope.analysis.tables.dependencies import wait_rows
from rlscope.analysis.tables.durations import DurationRow, duration_rows
from rlscope.analysis.tables.loop import Life, Loops, life_of, loops_of, outside_rows
from rlscope.analysis.tables.loop_times import CpuShares, LoopTimeRow, cpu_shares, loop_time_rows
from rlscope.analysis.tables.messages import MessageRow, message_rows
from rlscope.analysis.tables.processes import machine_rows, phase_rows, process_rows
from rlscope.analysis.tables.purposes import PurposeRow, purpose_rows
from rlscope.analysis.tables.samples import SampleRow, SampleTailRow, TokenRates, sample_rows, tail_rows, token_rates
from rlscope.analysis.tables.trainings import training_rows
from rlscope.text.commands import command_of


class _Table(Table["RunTables", RowT], Generic[RowT]):
    """A table of this analysis, found from a run and other tables."""


class RunTables(Tables):
    """The tables of a run, and facts beside them; `breakdown.table` and the like are pandas tables of rows."""

    @fact(in_document=False)
    def loops(self, run: Run) -> Loops:
        """Return where training loops lie."""
        return loops_of(self.breakdown, self.outside)

    @fact(in_document=False)
    def path(self, run: Run) -> OwnerPath | None:
        """Return what paces the run; None if no process took time."""
        return owner_path(self.processes, self.breakdown, self.loops, self.waits, self.dependencies)

    @fact()
    def life(self, run: Run) -> Life | None:
        """Return the wall time of the process that paces the run in parts that sum to it; None if none took time."""
        return None if self.path is None else life_of(run.process(self.path.process), self.loops)

    @fact()
    def command(self, run: Run) -> str:
        """Return the command that was recorded, as one types it, without what may be secret; empty if it is unknown."""
        return command_of(run.swept.trace.manifest)

    @fact()
    def hang(self, run: Run) -> Hang | None:
        """Return what the run was stuck in when it ended; None if it was not stuck."""
        return run.hang

    @fact()
    def complete(self, run: Run) -> bool:
        """Return whether nothing is known to be missing."""
        return not self.why

    @fact()
    def why(self, run: Run) -> tuple[str, ...]:
        """Return what is missing, one sentence each."""
        return (*run.swept.why, *self.sampled.why)

    @fact()
    def dropped_events(self, run: Run) -> int:
        """Return how many records could not be written, those of devices included."""
        return run.swept.dropped_events

    @fact()
    def misnested_operations(self, run: Run) -> int:
        """Return how many operations were closed by the end of another one, before their own."""
        return sum(process.found.misnested_operations for process in run.swept.processes)

    processes = _Table(
        ProcessRow,
        lambda run, found: process_rows(run.swept, run.corrected),
        per="process",
        values="identity, machine, parent, role, exit status, start, end, wall time; corrected, with an interval; "
        "`uncorrectable_s`; `iterations` reported; `threads_in_operations`; `beside_s`",
    )
    trainings = _Table(
        TrainingRow,
        lambda run, found: training_rows(run.swept),
        needs="trainings",
        per="process, training, of several in the order in which they began",
        values="iterations, timesteps made and in all; seconds from its first report to its last, without evaluation",
        title="Trainings",
        largest="seconds",
    )
    breakdown = _Table(
        BreakdownRow,
        lambda run, found: breakdown_rows(run.swept, run.corrected),
        per="process, phase, stage, operation, category, resource",
        values="seconds; corrected, with an interval",
    )
    outside = _Table(
        OutsideRow,
        lambda run, found: outside_rows(run.swept),
        per="process, part, category, resource",
        values="seconds in no operation and no phase: before, in or after the training loop",
    )
    purposes = _Table(
        PurposeRow,
        lambda run, found: purpose_rows(run.swept, found.loops),
        per="process, phase, part of its life, purpose, stage, category, resource",
        values="seconds, as recorded; they sum to the wall time of the process",
        title="Purposes",
        largest="seconds",
    )
    cpu_times = _Table(
        CpuTimeRow,
        lambda run, found: cpu_time_rows(run.swept),
        needs="cpu_times",
        per="process, phase, stage, operation",
        values="count; seconds in which threads were in it and in no inner one; of these, `cpu_s` on a CPU",
        title="Processor time",
        largest="cpu_s",
    )

    @fact(in_document=False)
    def cpu_shares(self, run: Run) -> CpuShares:
        """Return how the seconds in which processes worked become processor time."""
        return cpu_shares(self.purposes, self.breakdown, self.cpu_times)

    loop_times = _Table(
        LoopTimeRow,
        lambda run, found: loop_time_rows(found.purposes, found.cpu_shares, found.path),
        per="process, purpose, stage, in its training loop",
        values="processor time, without what recording added: what `rlscope forecast` reckons with",
        title="Processor time of the training loop",
        largest="cpu_s",
    )
    account = _Table(
        AccountRow,
        lambda run, found: account_rows(
            found.purposes, found.breakdown, found.cpu_times, found.path, run.own_lines(found.loops), found.hang
        ),
        per="cause, stage, category, whom or what was waited for, of the process that paces the run",
        values="seconds, what recording added by itself, and their share; they sum to the wall time of the process",
    )
    possible_evaluations = _Table(
        PossibleEvaluationRow,
        lambda run, found: possible_evaluation_rows(run.own_lines(found.loops)),
        needs="stack_times",
        per="process, function of the program's own that looks like a test of its policy",
        values="stacks that pass it; seconds of training in it with what it called, of these in simulation, inference",
    )
    threads = _Table(
        ThreadRow,
        lambda run, found: thread_rows(run.swept),
        per="process, thread, phase, stage, operation, category, resource",
        values="seconds in which the thread took part, by its own view: rules 1, 2, 4, 6, 10; never by launch",
        asked_by="--by thread",
        in_document=False,
    )
    memory = _Table(
        MemoryRow,
        lambda run, found: memory_rows(run.swept),
        needs="memory",
        per="process, owner (`host`, `PyTorch`, `JAX`), device, stage, operation",
        values="samples, and the most bytes that were in use in them",
        title="Memory",
        largest="highest_bytes",
    )
    memory_growth = _Table(
        MemoryGrowthRow,
        lambda run, found: memory_growth_rows(run.swept),
        needs="memory_series",
        per="process, owner, device",
        values="samples; first, last and peak bytes; growth per second, with an interval, per iteration; if it grew",
    )
    sync_points = _Table(
        SyncPointRow,
        lambda run, found: sync_point_rows(run.swept, run.progress.iterations),
        needs="sync_points",
        per='process, stage, operation, native function (`""`: none), CUDA call that waits',
        values="count, per iteration; seconds on its thread; the line that most stacks seen there have, and how many",
        title="Where the CPU waited for the GPU",
        largest="seconds",
    )
    transitions = _Table(
        TransitionRow,
        lambda run, found: transition_rows(run.swept, run.progress, found.loops.evaluation_s.keys()),
        per="process, stage, operation, from, to",
        values="count; per iteration and per timestep of the run; without evaluation",
    )
    crossings = _Table(
        CrossingRow,
        lambda run, found: crossing_rows(run.swept),
        per="process, function of another layer",
        values="how often it was entered, on any thread",
        title="Crossings",
        largest="count",
    )
    machines = _Table(
        MachineRow,
        lambda run, found: machine_rows(run.swept.machines),
        per="machine",
        values="how its processes were placed, how far its clock was ahead, the error that is left, drift",
    )

    @fact()
    def cores(self, run: Run) -> CoreUse:
        """Return what the run had of the machine's cores, and who else wanted them."""
        tells_no_core = all(process.file.header.tells_no_core for process in run.swept.processes)
        return core_use(run.swept.trace.manifest, self.breakdown, tells_no_core)

    gpu = _Table(
        GpuRow,
        lambda run, found: gpu_rows(run.devices, run.busy_parts, run.reported_shares),
        needs="devices",
        per="device",
        values="seconds in which it worked for any process, in which it communicated, and in which it did nothing "
        "else; sum of the kernels' durations, utilization as the driver reported it",
        left_out=("name",),
    )
    gpu_operations = _Table(
        GpuOperationRow,
        lambda run, found: gpu_operation_rows(run.devices),
        needs="devices",
        per="process, device, operation",
        values="seconds in which the device worked, and in which it only communicated; kernels",
        title="Device time by operation",
        largest="busy_s",
    )
    device_work = _Table(
        DeviceWorkRow,
        lambda run, found: device_work_rows(run.devices),
        needs="devices",
        per="process, device, stage, operation, name",
        values="count, sum of durations, bytes moved",
        title="Kernels and copies",
        largest="seconds",
        in_document=False,
    )
    device_shares = _Table(
        DeviceShareRow,
        lambda run, found: run.shared.shares,
        needs="devices",
        per='device that several processes used, process (`""`: all)',
        values="seconds in which it worked for this process alone, and for it and others at once",
    )
    device_switches = _Table(
        DeviceSwitchRow,
        lambda run, found: run.shared.switches,
        needs="devices",
        per="device that several processes used, process before, process after",
        values="count, seconds in which the device did nothing between the work of both, the longest",
    )
    device_idle = _Table(
        DeviceIdleRow,
        lambda run, found: device_idle_rows(
            run.clocks, found.dependencies, found.loops.evaluation_s.keys(), run.recover
        ),
        needs="devices",
        per="device, process that speaks for it, cause, stage, operation",
        values="seconds in the training loop in which it worked for no process",
        title="Why devices did nothing",
        largest="seconds",
    )

    @fact(in_document=False)
    def loop_busy_s(self, run: Run) -> dict[int, float]:
        """Return for how long each device worked from the begin of the training loop to its end."""
        return loop_busy_s(run.clocks, self.device_idle) if run.has("devices") else {}

    launches = _Table(
        LaunchRow,
        lambda run, found: launch_rows(run.devices, found.device_idle),
        needs="devices",
        per="process, device, stage, operation of the training loop that launched 100 kernels or more",
        values="launches; means of a kernel and of the device's idle time for each, while the process was in Python, "
        "the backend or CUDA there; `graph_saves_s`, the most that one CUDA graph saves: all of that idle "
        "time",
    )
    phases = _Table(
        PhaseRow,
        lambda run, found: phase_rows(run.swept, found.breakdown),
        per="process, phase",
        values="start, end, and seconds: all, with the CPU at work, with a device at work, in category `wait`",
        title="Phases",
        largest="wall_s",
    )
    waits = _Table(
        WaitRow,
        lambda run, found: wait_rows(run.swept, found.loops),
        needs="waits",
        per="process, phase, function (or `(blocked)`), stream and kind: `disk`, `pipe`, `lock`, ...",
        values="count, seconds of category `wait`, of these in operations, of these in the training loop",
        title="Waits",
        largest="wait_s",
    )
    messages = _Table(
        MessageRow,
        lambda run, found: message_rows(run.swept),
        needs="messages",
        per="process, stage, operation, direction, process at the other end of the pipe or socket",
        values="how often functions of Python wrote or read, and bytes",
        title="Messages",
        largest="bytes",
    )
    durations = _Table(
        DurationRow,
        lambda run, found: duration_rows(run.swept),
        needs="durations",
        per="process, stage, operation that ended 16 times or more",
        values="count, mean duration without time without a core; by the line through these in their order the "
        "first and the last one, and how much longer each takes, with an interval of 95 %; whether it grows",
        title="Durations",
        largest="mean_s",
    )
    tasks = _Table(
        TaskRow,
        lambda run, found: task_rows(run.swept),
        needs="tasks",
        per="process, operation that was suspended with its coroutine or generator",
        values="count; seconds in which they ran; from begin to end the sum, median, 99th percentile, maximum",
        title="Tasks",
        largest="elapsed_s",
    )
    samples = _Table(
        SampleRow,
        lambda run, found: sample_rows(run.swept),
        needs="samples",
        per="process, name under which samples were reported",
        values="count and tokens, of these discarded; versions and staleness; seconds from begin to report: sum, "
        "median, 99th percentile, maximum; `queue_s`; `discarded_device_s`",
        title="Samples",
        largest="count",
    )
    sample_tails = _Table(
        SampleTailRow,
        lambda run, found: tail_rows(run.swept),
        needs="sample_tails",
        per="process, iteration in which samples were complete",
        values="samples; from when 90 % of them were to the last: start, seconds, of these without a device at work",
        title="Tails of samples",
        largest="tail_s",
    )
    dependencies: Table[RunTables, DependencyRow] = _Table(
        DependencyRow,
        lambda run, found: run.dependencies(found.waits),
        needs="waits",
        per="process, phase, process that it waited on, stream",
        values="count, seconds of category `wait`",
        title="Who waited for whom",
        largest="wait_s",
    )
    collectives = _Table(
        CollectiveRow,
        lambda run, found: collective_rows(run.communicator_calls),
        needs="communicates",
        per="rank, communicator, kind of call",
        values="count, matched, bytes; seconds late, hidden, waited for the last rank, of transfer: "
        "[several-gpus.md](several-gpus.md)",
        title="Calls of communicators",
        largest="wait_s",
    )
    ranks = _Table(
        RankRow,
        lambda run, found: rank_rows(found.processes, found.waits, found.collectives),
        needs="communicates",
        per="rank",
        values="wall time, of it computing, waiting for the last rank, other communication, other waiting",
    )
    stragglers = _Table(
        StragglerRow,
        lambda run, found: straggler_rows(run.swept, run.waited_in, found.processes, found.breakdown, found.waits),
        needs="communicates",
        per="rank that was the last in a call",
        values="how long it kept the others, whether it stands out, and what it did more than they",
    )
    collective_kernels = _Table(
        CollectiveRow,
        lambda run, found: collective_rows(run.communicator_kernels),
        needs="communicates",
        per="rank, communicator, kind of NCCL's kernels",
        values="as in `collectives`, of devices",
        title="Kernels of communicators",
        largest="wait_s",
    )
    device_ranks = _Table(
        DeviceRankRow,
        lambda run, found: device_rank_rows(run.devices, run.communicator_kernels, found.processes),
        needs="devices",
        per="rank, device",
        values="wall time, of it computing, exposed waiting for the last rank, other exposed communication, idle",
    )
    device_timeline = _Table(
        DeviceTimelineRow,
        lambda run, found: device_timeline_rows(run.swept, run.devices, run.busy_parts, run.utilization),
        needs="devices",
        per="device, part of the run (200)",
        values="share in which it worked for any process, and in which it only communicated; utilization as the "
        "driver reported it",
    )

    @fact(in_document=False)
    def sampled(self, run: Run) -> Counters:
        """Return what hardware counters say."""
        return run.counters(self.breakdown)

    counters = _Table(
        CounterRow,
        lambda run, found: found.sampled.rows,
        per="process, device, stage, operation that launched work, hardware counter",
        values="while work ran, while the operation was open, or in all: [gpu.md](gpu.md)",
        title="Counters",
        largest="busy_s",
    )

    @fact()
    def counter_runs(self, run: Run) -> CounterRuns | None:
        """Return how counters were sampled; None in a run without. With counters, times are not for comparison."""
        return self.sampled.runs

    @fact()
    def iterations(self, run: Run) -> int | None:
        """Return those of the process that reported most of them; None without progress."""
        return run.progress.iterations

    @fact()
    def timesteps(self, run: Run) -> int | None:
        """Return those made during the recorded iterations; None without progress."""
        return run.progress.timesteps

    @fact()
    def total_timesteps(self, run: Run) -> int | None:
        """Return those of the whole training; None if unknown."""
        return run.progress.total_timesteps

    @fact()
    def extrapolated_s(self, run: Run) -> float | None:
        """Return the time for `total_timesteps` at the recorded rate, without evaluation; None if unknown."""
        return run.progress.extrapolated_s

    @fact()
    def extrapolated_with_evaluation_s(self, run: Run) -> float | None:
        """Return the same with evaluation, as much of it as there was; None if that is not known."""
        return run.progress.extrapolated_with_evaluation_s

    @fact()
    def tokens(self, run: Run) -> int | None:
        """Return how many tokens all samples had; None without samples."""
        return self.token_rates.tokens

    @fact()
    def tokens_per_s(self, run: Run) -> float | None:
        """Return how many of them came in a second of the run."""
        return self.token_rates.tokens_per_s

    @fact()
    def trained_tokens_per_s(self, run: Run) -> float | None:
        """Return how many of them came in a second that were not discarded."""
        return self.token_rates.trained_tokens_per_s

    @fact()
    def evaluation_s(self, run: Run) -> Mapping[str, float]:
        """Return how long each process was in the phase `evaluation`, which figures and rates leave out.

        Without processes of which nothing but evaluation is known: there it is left out of nothing.
        """
        return self.loops.evaluation_s

    @fact()
    def correction(self, run: Run) -> AppliedCorrection | None:
        """Return how times were corrected; None if they were not."""
        return run.applied_correction(self.processes, self.path)

    @fact(in_document=False)
    def message_ns(self, run: Run) -> Mapping[int, Bounds]:
        """Return what a step of an environment costs more in so many processes, as calibrated; empty if it was not."""
        return run.swept.correction.messages if run.swept.correction is not None else {}

    @fact()
    def uncorrected(self, run: Run) -> str:
        """Return why they were not; empty if they were."""
        return run.swept.uncorrected

    calls = _Table(
        CallRow,
        lambda run, found: call_rows(run.swept) if run.is_by_function else (),
        per="process, stage, operation, category, function",
        values="count: calls that began, on any thread; seconds of the process, as recorded",
        asked_by="--by function",
        beside="calls",
    )
    iteration_times = _Table(
        IterationRow,
        lambda run, found: iteration_rows(run.swept) if run.is_by_function else (),
        per="process, iteration",
        values="when it began, seconds: from one report of progress to the next, counted from 0",
        asked_by="--by function",
        beside="calls",
    )
    lines = _Table(
        LineRow,
        lambda run, found: line_rows(run.swept),
        needs="lines",
        per="process, stage, operation, function, file, line",
        values="stacks: how many were seen there; seconds of the process in Python, also without a core, as recorded. "
        "Of runs that were recorded with `--lines`",
        title="Lines of Python",
        largest="seconds",
        asked_by="--by line",
        beside="lines",
    )
    functions = _Table(
        FunctionRow,
        lambda run, found: function_rows(run.own_lines(found.loops), found.cpu_shares),
        needs="stack_times",
        per="process, stage, purpose, function, file, line at which it begins",
        values="stacks that pass it, `own_stacks` in which it was innermost; seconds in it with what it called, "
        "`own_seconds` without; of `seconds` the processor time; whether it `is_own`, the program's own code",
        title="Functions",
        largest="seconds",
        asked_by="--by line",
        beside="lines",
    )
    call_sites = _Table(
        CallSiteRow,
        lambda run, found: call_site_rows(run.swept),
        needs="call_sites",
        per="process, stage, operation, native function, caller, file, line",
        values="stacks: in how many of its calls one was seen, `waiting_stacks`: in how many of these it waited for "
        "a device; estimated percent of the operation's calls of this function, and of their time; the "
        "seconds of that; the layer of the function",
        title="Lines that made native calls",
        largest="seconds",
        asked_by="--by line",
        beside="lines",
    )

    @fact()
    def without_stacks(self, run: Run) -> tuple[str, ...]:
        """Return of which processes stacks could not be looked at, or not to the end, and why; a sentence each."""
        return tuple(without_stacks(run.swept))

    @fact(beside="lines")
    def torn_stacks(self, run: Run) -> int:
        """Return how many stacks changed while they were read, and so are in no line."""
        return sum(process.found.torn_stacks for process in run.swept.processes)

    @fact(in_document=False)
    def token_rates(self, run: Run) -> TokenRates:
        """Return how many tokens the samples had, and how fast they came; of None without samples."""
        return token_rates(self.samples, self.processes) if self.samples else TokenRates()
