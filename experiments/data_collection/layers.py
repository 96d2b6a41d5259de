"""This file finds where the time of recorded collections goes, and how often they cross into the backend and CUDA."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from experiments.harness.execute import Execution
from experiments.harness.progress import StudyRun
from experiments.verdicts.corrected import analyzed, corrected_text
from experiments.verdicts.statistics import estimated_mean
from rlscope.analysis.analysis import Analysis
from rlscope.errors import IncompleteTraceError
from rlscope.model import Category, Resource
from rlscope.plots.folding import CORRECTED, SECONDS, drawn_times, gpu_only, with_a_core

#: Around the calls that workloads/collect.py makes.
OPERATION = "collection"
LAYER_COLUMNS = ["steps_per_call", "repetition", "category", "resource", *SECONDS, CORRECTED]
PERCENTS = ("percent", "uncorrected_percent")
#: How often one call of `collect` crosses from Python into the backend, enters CUDA, and runs a kernel.
CROSSINGS = ("backend", "cuda", "kernels")
CROSSING_COLUMNS = ["steps_per_call", "repetition", "calls", *CROSSINGS]


def layers_of(executed: Iterable[tuple[StudyRun, Execution]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Analyze recorded collections.

    Args:
        executed: runs, each with one number of steps per call.

    Returns:
        Seconds by category and resource (LAYER_COLUMNS), and counts (CROSSING_COLUMNS), of each repetition.

    Raises:
        IncompleteTraceError: A trace has no collection in it.
    """
    layers, crossings = [], []
    for study_run, execution in executed:
        analysis = analyzed(execution.trace)
        words = study_run.run.arguments
        steps_per_call = int(words[words.index("--steps-per-call") + 1])
        about = {"steps_per_call": steps_per_call, "repetition": study_run.repetition}
        layers.append(time_in_layers(analysis).assign(**about)[LAYER_COLUMNS])
        crossings.append({**about, **crossings_of(analysis)})
    return (
        pd.concat(layers, ignore_index=True) if layers else pd.DataFrame(columns=LAYER_COLUMNS),
        pd.DataFrame(crossings, columns=CROSSING_COLUMNS),
    )


def time_in_layers(analysis: Analysis) -> pd.DataFrame:
    """Return category, resource and times of the collection, folded as the published figures are: waiting is
    Python's.
    """
    breakdown = analysis.breakdown.table
    rows = drawn_times(breakdown[breakdown["operation"] == OPERATION])
    if rows.empty:
        raise IncompleteTraceError(
            f"{analysis.directory}: expected the operation {OPERATION}, found none. Look at it with `rlscope inspect`"
        )
    folded = rows.assign(
        category=with_a_core(rows).replace(Category.WAIT.label, Category.PYTHON.label),
        resource=rows["resource"].replace(Resource.IDLE.value, Resource.CPU.value),
    )
    return gpu_only(folded).groupby(["category", "resource", CORRECTED], as_index=False)[SECONDS].sum()


def crossings_of(analysis: Analysis) -> dict[str, float]:
    """Return the calls of the collection, and how often each of them crosses.

    Nothing but calls is recorded, so crossings of threads that have no operation of their own count too.
    """
    if not analysis.iterations:
        raise IncompleteTraceError(
            f"{analysis.directory}: expected progress reports of collections, found none. "
            "Look at it with `rlscope inspect`"
        )
    into = analysis.transitions.table.groupby("to")["count"].sum()
    found = {
        "backend": into.get(Category.BACKEND.label, 0),
        "cuda": into.get(Category.CUDA.label, 0),
        "kernels": sum(row.kernels for row in analysis.gpu_operations),
    }
    calls = analysis.iterations
    return {"calls": calls, **{name: float(count) / calls for name, count in found.items()}}


def share_table(layers: pd.DataFrame) -> pd.DataFrame:
    """Return the table behind the figure of layers: means over repetitions, with 95 % intervals.

    Returns:
        steps_per_call, category, resource, percent of the time of the collection with the ends of its interval,
        uncorrected_percent, corrected and repetitions. A piece absent from a repetition counts as 0 there.
    """
    whole = layers.groupby(["steps_per_call", "repetition"])[SECONDS].transform("sum")
    shares = layers.assign(**dict(zip(PERCENTS, (100 * layers[name] / whole[name] for name in SECONDS), strict=True)))
    tables = []
    for steps, rows in shares.groupby("steps_per_call"):
        drawn, recorded = (
            rows.pivot_table(index=["category", "resource"], columns="repetition", values=name, fill_value=0.0)
            for name in PERCENTS
        )
        found = [estimated_mean(list(row)).columns("percent") for row in drawn.to_numpy()]
        table = pd.DataFrame(found, index=drawn.index).assign(
            uncorrected_percent=recorded.mean(axis="columns"),
            corrected=corrected_text(rows[CORRECTED]),
            repetitions=drawn.shape[1],
        )
        tables.append(table.reset_index().assign(steps_per_call=steps))
    return pd.concat(tables, ignore_index=True)


def crossing_table(crossings: pd.DataFrame) -> pd.DataFrame:
    """Return the table behind the figure of transitions: per call, means over repetitions with 95 % intervals."""
    rows = []
    for steps, repetitions in crossings.groupby("steps_per_call"):
        row: dict[str, object] = {"steps_per_call": steps}
        for name in CROSSINGS:
            row |= estimated_mean(list(repetitions[name])).columns(name)
        rows.append({**row, "repetitions": len(repetitions)})
    return pd.DataFrame(rows)


def shares(
    layers: pd.DataFrame, category: str | None = None, resources: Sequence[Resource] = tuple(Resource)
) -> dict[int, list[float]]:
    """Return the share of the collection that is of a category (of all) on these resources, by steps per call, in
    percent.
    """
    chosen = layers["resource"].isin([resource.value for resource in resources])
    if category is not None:
        chosen &= layers["category"] == category
    seconds = layers.assign(chosen=np.where(chosen, layers["seconds"], 0.0))
    sums = seconds.groupby(["steps_per_call", "repetition"])[["chosen", "seconds"]].sum()
    percent = 100 * sums["chosen"] / sums["seconds"]
    return {int(steps): list(values) for steps, values in percent.groupby("steps_per_call")}
