"""The published view of an analysis: three stages, no waiting and no idle time of its own."""

from dataclasses import dataclass

import pandas

from rlscope.model import NO_OPERATION, STAGES, TRAINING_LOOP, Category, Resource
from rlscope.plots.style import GPU_ONLY

PUBLISHED_TRANSITIONS = (Category.BACKEND.label, Category.CUDA.label, Category.SIMULATOR.label)


@dataclass(frozen=True)
class Folded:
    """What a published figure shows of a process, and how much it leaves out.

    Attributes:
        rows: stage, category, resource, seconds; one row for each combination that took time.
        left_out_s: seconds in no operation of training: starting up, building the model, ending.
    """

    rows: pandas.DataFrame
    left_out_s: float


def fold_breakdown(breakdown: pandas.DataFrame) -> Folded:
    """Fold a breakdown as the published figures do.

    ============================  ====================
    in the analysis               in the figure
    ============================  ====================
    stage training_loop           backpropagation
    stage (none)                  left out
    resource idle                 cpu
    category wait                 python
    any category, resource gpu    gpu (without a hatch)
    ============================  ====================
    """
    outside = breakdown["stage"] == NO_OPERATION
    rows = breakdown.loc[~outside, ["stage", "category", "resource", "seconds"]].copy()
    rows["stage"] = rows["stage"].replace(TRAINING_LOOP, "backpropagation")
    rows["resource"] = rows["resource"].replace(Resource.IDLE.value, Resource.CPU.value)
    rows["category"] = rows["category"].replace(Category.WAIT.label, Category.PYTHON.label)
    folded = gpu_only(rows).groupby(["stage", "category", "resource"], as_index=False)["seconds"].sum()
    return Folded(folded, float(breakdown.loc[outside, "seconds"].sum()))


def gpu_only(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Rows in which what the GPU does alone is not said to be of the category in which the CPU waits for it."""
    return rows.assign(category=rows["category"].mask(rows["resource"] == Resource.GPU.value, GPU_ONLY))


def fold_transitions(transitions: pandas.DataFrame) -> pandas.DataFrame:
    """Fold transitions as the published figures do: entries into the backend, CUDA and the simulator, per stage.

    Entries into the simulator outside simulation, and everything outside training, are left out.

    Returns:
        stage, category (the one entered), count, per_iteration and per_timestep (empty without progress reports).
    """
    rows = transitions.copy()
    rows["stage"] = rows["stage"].replace(TRAINING_LOOP, "backpropagation")
    rows = rows.rename(columns={"to": "category"})
    in_simulation = (rows["category"] != Category.SIMULATOR.label) | (rows["stage"] == "simulation")
    shown = rows["stage"].isin(STAGES) & rows["category"].isin(PUBLISHED_TRANSITIONS) & in_simulation
    counts = ["count", "per_iteration", "per_timestep"]
    rows[counts] = rows[counts].astype(float)
    # min_count keeps what is unknown unknown: a sum of nothing is not zero transitions per iteration.
    return rows[shown].groupby(["stage", "category"], as_index=False)[counts].sum(min_count=1)
