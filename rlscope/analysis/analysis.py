"""An analysis: what `rlscope analyze` shows of one trace, as tables and numbers."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from rlscope.analysis.correction import AppliedCorrection
from rlscope.analysis.counters.counters import CounterRuns
from rlscope.analysis.tables.loop import evaluation_seconds
from rlscope.analysis.utilization import Utilization


@dataclass(frozen=True)
class Analysis:
    """What `rlscope analyze` shows. Tables are not to be changed in place.

    Attributes:
        directory: the trace.
        processes: one row per process: `process` (unique name), `machine`, `pid`, `parent_pid` (of a recorded parent),
            `parent` (its name, None without one), `role`, `exit_status`, `complete`, `start_s`, `end_s` (from the start
            of the first process), `wall_s`, the corrected wall time with its interval, `uncorrectable_s`, overhead
            that could not be removed, `iterations` that it reported, `threads_in_operations`, how many had any of their
            own, and `beside_s`, in which two or more of these were busy: in one, and not waiting for another thread.
        breakdown: one row per `process`, `phase`, `stage`, `operation`, `category`, `resource`: `seconds`, and the
            corrected seconds with their interval; these are NaN without a correction. The seconds of a process sum to
            its `wall_s`, the corrected ones to its `corrected_wall_s`.
        outside: its rows in no operation and no phase once more, one per `process`, `part`, `category` and `resource`:
            `seconds` `before` the training loop, `in` it or `after` it.
        threads: each thread's own view, with the column `thread` (its number in the process). Empty unless asked for.
            A thread's seconds sum to the time in which it took part.
        phases: one row per `process` and `phase`, `(none)` included: `start_s`, its first begin, and `end_s`, its last
            end, from the start of the first process; `wall_s`, time in which it was the process's phase; of that
            `cpu_s`, `gpu_s` (a device worked for the process: an upper bound where processes share it) and `wait_s`.
        waits: one row per `process`, `phase`, waiting `function` and `stream` ("" if none): `count` of entries, and
            `wait_s`, which sum to the process's time of category `wait`; `in_operations_s`, of these in any operation;
            `in_loop_s`, of these in operations or between them in the training loop.
        tasks: one row per `process` and `operation` of coroutines or generators that were suspended inside it: `count`;
            `running_s` and `elapsed_s`, for which they ran and were open, both summed; and of the time that each was
            open `elapsed_p50_s`, `elapsed_p99_s` (both rounded down, by less than 1 %) and `elapsed_max_s`.
        dependencies: one row per `process`, `phase`, process that it waited `on` and `stream` between them: `count` of
            calls and `wait_s`, split by how often each of several others sent or received.
        device_timeline: one row per `device` and part of the run from `start_s` to `end_s`: `busy`, the share in which
            it worked for any process, and `reported` utilization; both from 0 to 1, NaN where it was not sampled.
        transitions: one row per `process`, `stage`, `operation`, `from`, `to` (categories): `count`, and the count per
            iteration and per timestep of the run. Without those of evaluation, as in `evaluation_s`.
        machines: one row per `machine` (its name) and start of it: `boot_id`; `processes`, how many; how they were
            `placed` on the time line (`reference`: times are those of its clock; `measured`: moved by the offset that
            was measured; `own clock`: that is not known); how far its clock was `ahead_s`; `error_s`, the most by which
            its processes are misplaced; `drift_ppm`, how much faster its clock runs (0 if too little to be measured);
            and `unanswered`, processes that asked for the time and had no answer.
        gpu: one row per device that was used: `device` (its number in the trace), `uuid`, `busy_s` (something ran on it
            for any process), `kernel_s` (the sum of the kernels' durations), `reported_utilization` (from 0 to 1, NaN
            if it was not sampled), `name`.
        gpu_operations: one row per `process`, `device` and `operation` that launched work: `busy_s`, `kernels`. The
            busy time of a process's device sums to how long it worked for the process.
        device_work: one row per `process`, `device`, `stage`, `operation` that launched it and `name` of the kernel or
            copy: `count`, `seconds` (the sum of durations), `bytes` (moved). Not in the JSON document.
        counters: one row per `process`, `device`, `stage`, `operation` that launched work, and hardware counter
            `metric`: its `unit`; `while_working`, its value while work of the operation ran; `while_open`, of a rate,
            its value over the seconds of the operation in the breakdown; `total`, of an amount; `busy_s` in samples on
            which this rests, and `samples`, how many. What is no such value is NaN. A row with operation "" is of the
            whole stage, one with stage "" too of the process, and one with operation `(unattributed)` and process "" of
            samples in which no recorded work ran. Empty without counters.
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
    processes: pd.DataFrame
    breakdown: pd.DataFrame
    outside: pd.DataFrame
    threads: pd.DataFrame
    phases: pd.DataFrame
    waits: pd.DataFrame
    tasks: pd.DataFrame
    dependencies: pd.DataFrame
    device_timeline: pd.DataFrame
    transitions: pd.DataFrame
    machines: pd.DataFrame
    gpu: pd.DataFrame
    gpu_operations: pd.DataFrame
    device_work: pd.DataFrame
    counters: pd.DataFrame
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
        """How long each process was in the phase `evaluation`, which advice, figures, rates and transitions leave out.

        Without processes of which nothing but evaluation is known: there it is left out of nothing.
        """
        return evaluation_seconds(self.breakdown, self.outside)
