"""This file makes tables of recorded trainings of language models, which machines without that device can read."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.harness.execute import LOG, Execution
from experiments.harness.progress import StudyRun
from experiments.harness.workload_output import figures_in
from experiments.verdicts.corrected import analyzed
from experiments.verdicts.other_machines import MeasuredTables, exactly, joined, load_tables
from rlscope.model import NO_OPERATION
from rlscope.plots.folding import drawn_times

#: The first columns of every table.
KEY = ["workload", "repetition"]
#: When this share of an iteration's samples is complete, its tail begins.
BEFORE_TAIL = 0.9
#: Operations of the workload's stopwatch, by what they are part of.
PARTS = {
    "generate_s": ("generate",),
    "training_s": ("advantages", "logprobs", "update_actor"),
    "sync_s": ("gather", "pause", "transfer", "load", "resume"),
    "pause_s": ("pause",),
    "wait_s": ("wait_for_batch",),
}


@dataclass(frozen=True)
class Tables:
    """This is what is known of recorded trainings; the rows of a run begin with KEY.

    Attributes:
        stages: what RL-Scope recorded: `process`, `stage`, `operation`, `category`, `resource`, `seconds` (without what
            recording added where that is known) and `uncorrected_seconds`; nothing of what is in no operation.
        iterations: by the workload's stopwatch, without the first, in which libraries start: `iteration`, `seconds`,
            the keys of PARTS; `rollout_s` from the first begin of a sample to the last end, `tail_s` of it, `tokens`,
            `tail_tokens` and `body_tokens` (those of steps in the tail and before it), `stale_tokens`, `stale_samples`
            and `samples`; `reward`, the mean. None of TRL.
        operations: seconds of each `operation` by the stopwatch, over all iterations.
        samples: of one iteration of each workload: `done_s` since it began, `tokens`, `discarded`.
        steps: of the same: when a step of the engine ended (`done_s`), and for how many samples it was (`running`).
    """

    stages: pd.DataFrame
    iterations: pd.DataFrame
    operations: pd.DataFrame
    samples: pd.DataFrame
    steps: pd.DataFrame


#: The columns of each table after KEY.
COLUMNS = {
    "stages": ["process", "stage", "operation", "category", "resource", "seconds", "uncorrected_seconds"],
    "iterations": [
        "iteration", "seconds", *PARTS, "rollout_s", "tail_s", "tokens", "tail_tokens", "body_tokens", "stale_tokens",
        "stale_samples", "samples", "reward",
    ],
    "operations": ["operation", "seconds"],
    "samples": ["done_s", "tokens", "discarded"],
    "steps": ["done_s", "running"],
}  # fmt: skip


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
        IncompleteTraceError: A run has left no line about itself.
    """
    return joined(Tables, [tables_of_run(study_run, execution) for study_run, execution in executed])


def tables_of_run(study_run: StudyRun, execution: Execution) -> dict[str, pd.DataFrame]:
    """Return the tables of one run, by name."""
    printed = figures_in(execution.trace.parent / LOG, execution.run.script.name)
    iterations, steps = printed.get("iterations", []), printed.get("steps", [])
    rows: dict[str, Any] = {
        "iterations": [iteration_row(number, each, steps) for number, each in enumerate(iterations) if number],
        "operations": operation_rows(iterations),
        "samples": [],
        "steps": [],
    }
    if study_run.repetition == 0 and len(iterations) > 1:
        shown = middle(iterations[1:])
        start_s, end_s = shown["start_s"], shown["end_s"]
        rows["samples"] = sorted(
            (sample["end_s"] - start_s, sample["tokens"], sample["discarded"]) for sample in shown["samples"]
        )
        rows["steps"] = [(time_s - start_s, running) for time_s, running in steps if start_s < time_s <= end_s]
    tables = {name: pd.DataFrame(found, columns=COLUMNS[name]) for name, found in rows.items()}
    breakdown = drawn_times(analyzed(execution.trace).breakdown.table)
    tables["stages"] = breakdown.loc[breakdown["stage"] != NO_OPERATION, COLUMNS["stages"]]
    about = dict(zip(KEY, (study_run.workload.name, study_run.repetition), strict=True))
    return {name: table.assign(**about)[[*KEY, *COLUMNS[name]]] for name, table in tables.items()}


def middle(iterations: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the iteration that takes as long as half of them at most."""
    return sorted(iterations, key=lambda each: each["end_s"] - each["start_s"])[(len(iterations) - 1) // 2]


def operation_rows(iterations: Sequence[Mapping[str, Any]]) -> list[tuple[str, float]]:
    """Return the seconds of each operation over all iterations."""
    names = dict.fromkeys(name for iteration in iterations for name in iteration["operations"])
    return [(name, sum(each["operations"].get(name, 0.0) for each in iterations)) for name in names]


def iteration_row(
    number: int, iteration: Mapping[str, Any], steps: Sequence[tuple[float, int]]
) -> tuple[float | int, ...]:
    """Return a row of the table of iterations.

    Ten samples that are complete after 1, 2, … 9 and 20 s have a tail from 9 s to 20 s, in which one is generated.
    """
    samples, operations = iteration["samples"], iteration["operations"]
    ends = sorted(sample["end_s"] for sample in samples)
    begins_s, tail_s, last_s = min(sample["start_s"] for sample in samples), tail_start(ends), ends[-1]
    tokens = {"tail": 0, "body": 0}
    for time_s, running in steps:
        if max(begins_s, iteration["start_s"]) < time_s <= last_s:
            tokens["tail" if time_s > tail_s else "body"] += running
    stale = [sample["tokens"] for sample in samples if sample["discarded"]]
    return (
        number,
        iteration["end_s"] - iteration["start_s"],
        *(sum(operations.get(name, 0.0) for name in names) for names in PARTS.values()),
        last_s - max(begins_s, iteration["start_s"]),
        last_s - tail_s,
        sum(sample["tokens"] for sample in samples),
        tokens["tail"],
        tokens["body"],
        sum(stale),
        len(stale),
        len(samples),
        iteration["reward"],
    )


def tail_start(ends: Sequence[float]) -> float:
    """Return when BEFORE_TAIL of the samples were complete; of ten, when the ninth was.

    Args:
        ends: when each sample was complete, in order.
    """
    return ends[math.ceil(BEFORE_TAIL * len(ends)) - 1]
