"""This file makes tables of recorded trainings whose simulators run on a GPU, which machines without one can read."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.harness.execute import LOG, Execution
from experiments.harness.progress import StudyRun
from experiments.harness.workload_output import figures_in
from experiments.verdicts.corrected import correction_for
from experiments.verdicts.other_machines import MeasuredTables, exactly, joined, load_tables
from rlscope.analysis.analysis import Analysis, analyze
from rlscope.errors import IncompleteTraceError
from rlscope.model import STAGES, Category, Resource
from rlscope.plots.folding import drawn_times
from rlscope.plots.style import BETWEEN_STAGES
from rlscope.trace.reader import open_trace

#: The first columns of every table.
KEY = ["workload", "repetition"]
#: What a GPU does: while it is busy, time is the stage's that has launched the work; else that of the CPU.
BUSY, IDLE = "busy", "idle"
#: What is in a compiled function, or in a kernel, that does the work of several stages.
IN_ONE_CALL = "in one call"
#: The resources of time in which no GPU works.
WITHOUT_GPU = (Resource.CPU.value, Resource.IDLE.value)
#: Parts of the names of CUDA calls that get the device to work on kernels.
LAUNCHES = ("LaunchKernel", "LaunchCooperativeKernel", "GraphLaunch")


@dataclass(frozen=True)
class Tables:
    """This is what is known of recorded trainings; the rows of a run begin with KEY.

    Attributes:
        stages: what was recorded of the loop: `stage` (also IN_ONE_CALL or BETWEEN_STAGES), whether the GPU was then
            BUSY or IDLE (`gpu`), `seconds` (without what recording added where that is known) and
            `uncorrected_seconds`.
        counts: one row each: `environments`; `physics_steps`, that a step of one takes; `steps`, of all environments
            at once, that were recorded, in which there were so many `launches`, `kernels` and `waits` for the device;
            `steps_per_s`: timesteps a second of the iterations after those, by the workload's own stopwatch.
    """

    stages: pd.DataFrame
    counts: pd.DataFrame


#: The columns of each table after KEY.
COLUMNS = {
    "stages": ["stage", "gpu", "seconds", "uncorrected_seconds"],
    "counts": ["environments", "physics_steps", "steps", "launches", "kernels", "waits", "steps_per_s"],
}


class Measurements(MeasuredTables[Tables]):
    """The tables of a machine, and where they come from."""


def load(directory: Path) -> Measurements:
    """Return what `Measurements.save` has written.

    Raises:
        UsageError: It is damaged.
    """
    return load_tables(directory, Measurements, Tables, exactly(KEY, COLUMNS))


def tables_of(executed: Iterable[tuple[StudyRun, Execution]]) -> Tables:
    """Analyze recorded trainings.

    Raises:
        IncompleteTraceError: A run has left no line about itself, or too few iterations.
    """
    nothing = {name: pd.DataFrame(columns=[*KEY, *columns]) for name, columns in COLUMNS.items()}
    return joined(Tables, [tables_of_run(*one) for one in executed] or [nothing])


def tables_of_run(study_run: StudyRun, execution: Execution) -> dict[str, pd.DataFrame]:
    """Return the tables of one run, by name."""
    trace = open_trace(execution.trace)
    analysis = analyze(trace, correction=correction_for(trace), by_function=True)
    printed = figures_in(execution.trace.parent / LOG, execution.run.script.name)
    later_s = printed["iteration_s"][execution.run.delay_iterations + (execution.run.max_iterations or 0) :]
    if not (analysis.iterations and analysis.timesteps and later_s):
        raise IncompleteTraceError(
            f"{execution.trace}: expected recorded iterations and later ones, found {analysis.iterations} and "
            f"{len(later_s)}. Look at it with `rlscope inspect`"
        )
    environments = printed["environments"]
    counts = {
        "environments": environments,
        "physics_steps": printed["physics_steps"],
        "steps": analysis.timesteps / environments,
        **calls_of(analysis),
        "kernels": sum(row.kernels for row in analysis.gpu_operations),
        "steps_per_s": analysis.timesteps / analysis.iterations * len(later_s) / sum(later_s),
    }
    tables = {"stages": stages_of(analysis), "counts": pd.DataFrame([counts])}
    about = dict(zip(KEY, (study_run.workload.name, study_run.repetition), strict=True))
    return {name: table.assign(**about)[[*KEY, *COLUMNS[name]]] for name, table in tables.items()}


def stages_of(analysis: Analysis) -> pd.DataFrame:
    """Return the seconds of the process by stage, and by what the GPU did meanwhile.

    A call of JAX returns early, and the CPU waits for the device in another place. Say it launches for 1 ms in
    simulation, and then waits for 9 between the stages while the GPU simulates for 8: simulation has 9 ms, what is
    between the stages 1.
    """
    rows = drawn_times(analysis.breakdown.table)
    stages = [stage_of(*names) for names in zip(rows["stage"], rows["operation"], strict=True)]
    of_operation = dict(zip(rows["operation"], stages, strict=True))
    rows = rows.assign(stage=stages, gpu=IDLE)[rows["resource"].isin(WITHOUT_GPU)]
    launched = analysis.gpu_operations.table
    launched = launched.assign(
        stage=[of_operation.get(name, BETWEEN_STAGES) for name in launched["operation"]],
        gpu=BUSY,
        seconds=launched["busy_s"],
        uncorrected_seconds=launched["busy_s"],
    )
    columns = COLUMNS["stages"]
    return pd.concat([rows[columns], launched[columns]]).groupby(columns[:2], as_index=False).sum()


def stage_of(stage: str, operation: str) -> str:
    """Return the stage of an operation: of `simulation+inference` IN_ONE_CALL, of what is in none BETWEEN_STAGES."""
    if stage in STAGES:
        return stage
    parts: Sequence[str] = operation.split("+")
    return IN_ONE_CALL if len(parts) > 1 and set(parts) <= set(STAGES) else BETWEEN_STAGES


def calls_of(analysis: Analysis) -> dict[str, Any]:
    """Return how many CUDA calls launched kernels or graphs, and how many there were to wait for the device.

    Copies to memory that is not page-locked wait too, but their calls do not tell: they are not counted.
    """
    calls: Counter[str] = Counter()
    for row in analysis.calls:
        if row.category == Category.CUDA.label:
            calls[row.function] += row.count
    return {
        "launches": sum(count for name, count in calls.items() if any(part in name for part in LAUNCHES)),
        "waits": sum(count for name, count in calls.items() if waits(name)),
    }


def waits(function: str) -> bool:
    """Return whether a CUDA call returns when the device is done: a synchronisation, or a copy that is not
    asynchronous.
    """
    return "Synchronize" in function or ("Memcpy" in function and "Async" not in function)
