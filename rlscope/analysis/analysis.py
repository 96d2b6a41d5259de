"""This file defines an analysis: what `rlscope analyze` shows of one trace, as rows and numbers."""

from dataclasses import dataclass
from pathlib import Path

from rlscope.analysis.correction.corrected import AppliedCorrection
from rlscope.analysis.counters.runs import CounterRuns
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
from rlscope.analysis.lines.rows import CallSiteRow, LineRow, SyncPointRow
from rlscope.analysis.memory.rows import MemoryGrowthRow, MemoryRow
from rlscope.analysis.ranks.rows import CollectiveRow, DeviceRankRow, RankRow, StragglerRow
from rlscope.analysis.reported import Utilization
from rlscope.analysis.rows import Rows
from rlscope.analysis.table_rows import (
    BreakdownRow,
    CallRow,
    CounterRow,
    DependencyRow,
    IterationRow,
    MachineRow,
    OutsideRow,
    PhaseRow,
    ProcessRow,
    TaskRow,
    ThreadRow,
    TransitionRow,
    WaitRow,
)
from rlscope.analysis.tables.loop import evaluation_seconds
from rlscope.analysis.tables.samples import SampleRow, SampleTailRow, TokenRates, token_rates
from rlscope.text.numbers import digits, duration


@dataclass(frozen=True)
class Analysis:
    """This is what `rlscope analyze` shows. `analysis.breakdown.table` and the like are pandas tables of the rows.

    Attributes:
        directory: the trace.
        processes: by start.
        breakdown: by process.
        outside: the rows of the breakdown in no operation and no phase once more, by part of the training loop.
        threads: each thread's own view. Empty unless asked for.
        calls: by function, of each process those with most time first. Empty unless asked for.
        lines: time in Python by line. Empty unless stacks were looked at (`record --lines`).
        memory: the most memory that was seen in use, by operation.
        memory_growth: how memory went over time.
        sync_points: where processes waited for devices, by the function that made them wait.
        call_sites: which lines made native calls. Empty unless stacks were looked at.
        torn_stacks: how many stacks changed while they were read, and so are in no line.
        iteration_times: how long each iteration took. Empty unless calls are asked for.
        phases: by process and start.
        waits: what processes waited in.
        tasks: operations of coroutines and generators.
        samples: what was reported of samples, by process and name.
        sample_tails: how long the last samples of each iteration kept the others.
        dependencies: which processes waited for which others.
        collectives: what ranks called of communicators.
        ranks: what ranks did with their time.
        stragglers: which of them kept the others waiting, the longest first.
        collective_kernels: what communicators ran on devices, as in `collectives`.
        device_ranks: what the devices of ranks did with their time.
        device_timeline: when devices worked.
        transitions: how often processes went from one category into another.
        machines: that of `rlscope record` first.
        gpu: the devices that were used.
        gpu_operations: what operations launched on them.
        device_work: what the work was. Not in the JSON document.
        device_shares: who had a device that several processes used.
        device_switches: how such a device passed from one process to another.
        device_idle: why devices did nothing in the training loop.
        launches: operations whose launches devices waited for, which a CUDA graph would shorten.
        counters: hardware counters by operation. Empty without counters.
        counter_runs: how counters were sampled; None in a run without. With counters, times are not for comparison.
        complete: nothing is known to be missing.
        why: what is missing, one sentence each.
        dropped_events: records that could not be written, those of devices included.
        misnested_operations: how many were closed by the end of another one, before their own.
        iterations: of the process that reported most of them; None without progress.
        timesteps: made during the recorded iterations; None without progress.
        total_timesteps: of the whole training; None if unknown.
        extrapolated_s: time for `total_timesteps` at the recorded rate, without evaluation; None if unknown.
        correction: how times were corrected; None if they were not.
        uncorrected: why they were not; empty if they were.
        utilization: what the machine reported of devices and processes. Not in the JSON document.
    """

    directory: Path
    processes: Rows[ProcessRow]
    breakdown: Rows[BreakdownRow]
    outside: Rows[OutsideRow]
    threads: Rows[ThreadRow]
    calls: Rows[CallRow]
    lines: Rows[LineRow]
    memory: Rows[MemoryRow]
    memory_growth: Rows[MemoryGrowthRow]
    sync_points: Rows[SyncPointRow]
    call_sites: Rows[CallSiteRow]
    torn_stacks: int
    iteration_times: Rows[IterationRow]
    phases: Rows[PhaseRow]
    waits: Rows[WaitRow]
    tasks: Rows[TaskRow]
    samples: Rows[SampleRow]
    sample_tails: Rows[SampleTailRow]
    dependencies: Rows[DependencyRow]
    collectives: Rows[CollectiveRow]
    ranks: Rows[RankRow]
    stragglers: Rows[StragglerRow]
    collective_kernels: Rows[CollectiveRow]
    device_ranks: Rows[DeviceRankRow]
    device_timeline: Rows[DeviceTimelineRow]
    transitions: Rows[TransitionRow]
    machines: Rows[MachineRow]
    gpu: Rows[GpuRow]
    gpu_operations: Rows[GpuOperationRow]
    device_work: Rows[DeviceWorkRow]
    device_shares: Rows[DeviceShareRow]
    device_switches: Rows[DeviceSwitchRow]
    device_idle: Rows[DeviceIdleRow]
    launches: Rows[LaunchRow]
    counters: Rows[CounterRow]
    counter_runs: CounterRuns | None
    complete: bool
    why: tuple[str, ...]
    dropped_events: int
    misnested_operations: int
    iterations: int | None
    timesteps: int | None
    total_timesteps: int | None
    extrapolated_s: float | None
    correction: AppliedCorrection | None
    uncorrected: str
    utilization: Utilization

    @property
    def evaluation_s(self) -> dict[str, float]:
        """Return how long each process was in the phase `evaluation`, which advice, figures, rates and
        transitions leave out.

        Without processes of which nothing but evaluation is known: there it is left out of nothing.
        """
        return evaluation_seconds(self.breakdown, self.outside)

    @property
    def token_rates(self) -> TokenRates:
        """Return how many tokens the samples had, and how fast they came; of None without samples."""
        return token_rates(self.samples, self.processes)

    @property
    def summary(self) -> str:
        """Say what was recorded, such as "1 process, 9.06 s, 600 iterations, 600 timesteps"."""
        wall_s = max(row.end_s for row in self.processes)
        parts = [f"{len(self.processes)} process{'es' if len(self.processes) > 1 else ''}", duration(wall_s)]
        if self.iterations is not None:
            parts += [f"{self.iterations:,} iterations", f"{self.timesteps:,} timesteps"]
        rates = self.token_rates
        if rates.tokens_per_s is not None:
            parts.append(f"{rates.tokens:,} tokens, {digits(rates.tokens_per_s)} a second")
            if rates.trained_tokens_per_s is not None and rates.trained_tokens_per_s != rates.tokens_per_s:
                parts[-1] += f" of which {digits(rates.trained_tokens_per_s)} were kept"
        if self.extrapolated_s is not None:
            parts.append(f"about {duration(self.extrapolated_s)} for all {self.total_timesteps:,} timesteps")
        return ", ".join(parts)

    def _repr_html_(self) -> str:
        """Show the analysis in a notebook: what bounds the run, and where its time went."""
        from rlscope.analysis.outline.html import html_of

        return html_of(self)
