"""This file divides a recorded vector step: steps of an environment, resets, inference, waiting, the rest."""

from collections.abc import Iterable

import pandas as pd

from experiments.parallel_sampling.measurements import Sampled
from rlscope.model import Category
from rlscope.plots.folding import CORRECTED, drawn_times, with_a_core

#: Names that the workload gives to phases and to an operation.
STARTING, SAMPLING, RESET = "starting", "sampling", "reset"
PARTS_COLUMNS = [
    "name", "sampler", "group", "repetition", "part", "milliseconds", "uncorrected_milliseconds", CORRECTED,
]  # fmt: skip
#: Of runs by their environments: the titles of panels.
GROUPS = {"timed": "Timed environments", "real": "A drone"}


def parts_ms(breakdown: pd.DataFrame, sampled: Sampled) -> dict[str, float]:
    """Return milliseconds of the parts of a vector step, by their names in PART_LOOKS of `figures.py`; they sum to
    the whole.

    There are none where no process was seen to ask the policy.

    A process that asks the policy is one that samples. Its environments are in the process itself, or in others. Then
    what it waits for them beyond the time of an average one is waiting for the slowest. It also waits from its own last
    step until other processes are done. What comes before an environment's first step is left out.

    Args:
        breakdown: of the recorded run, as in an analysis.
        sampled: what it printed.
    """
    vector_steps = sampled.steps * len(sampled.iterations)
    whole_s = sum(sampled.sampling_s) / vector_steps
    asking = while_sampling(breakdown)
    samplers = set(asking["process"])
    if not samplers:
        return {}
    # Who has a phase of sampling and asks nobody waits for workers; what it does with environments is before or after.
    leading = set(breakdown.loc[breakdown["phase"] == SAMPLING, "process"])
    others = breakdown[~breakdown["process"].isin(leading) & (breakdown["phase"] != STARTING)]
    of_their_own = others[others["stage"] == "simulation"]
    stepping = asking[asking["stage"] == "simulation"] if of_their_own.empty else of_their_own
    step_s, reset_s = (seconds / vector_steps for seconds in mean_of_processes_s(stepping))
    by_layer = asking.assign(category=with_a_core(asking)).groupby(["stage", "category"])["seconds"].sum()
    per_step = by_layer / len(samplers) / vector_steps
    inference_s = float(per_step.get("inference", pd.Series(dtype=float)).sum())
    waits_s = float(per_step.get(("simulation", Category.WAIT.label), 0.0)) - step_s - reset_s
    in_steps_s = max(0.0, waits_s) if len(of_their_own) else 0.0
    at_end_s = max(0.0, whole_s - float(per_step.sum())) if len(samplers) > 1 else 0.0
    known = {"inference": inference_s, "simulation": step_s, "reset": reset_s, "wait": in_steps_s + at_end_s}
    known["rest"] = max(0.0, whole_s - sum(known.values()))
    return {part: 1000 * part_s for part, part_s in known.items()}


def mean_of_processes_s(stepping: pd.DataFrame) -> tuple[float, float]:
    """Return seconds that a process steps environments, without resets and in them."""
    in_resets = stepping["operation"] == RESET
    processes = max(1, stepping["process"].nunique())
    in_steps_s, in_resets_s = (float(stepping.loc[rows, "seconds"].sum()) for rows in (~in_resets, in_resets))
    return in_steps_s / processes, in_resets_s / processes


def while_sampling(breakdown: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of processes that ask the policy, while they sample."""
    sampling = breakdown[breakdown["phase"] == SAMPLING]
    asking = sampling.loc[sampling["stage"] == "inference", "process"].unique()
    return sampling[sampling["process"].isin(asking)]


def parts_table(analyzed: Iterable[tuple[Sampled, pd.DataFrame]]) -> pd.DataFrame:
    """Return the table behind the figure: the parts of a vector step in each run.

    Args:
        analyzed: runs with their breakdowns.

    Returns:
        name, sampler (its label), group (a title by its environment), repetition, part, milliseconds,
        uncorrected_milliseconds, corrected.
    """
    rows = []
    for sampled, breakdown in analyzed:
        about = (sampled.name, sampled.label, GROUPS[sampled.environment], sampled.repetition)
        drawn, recorded = drawn_times(breakdown), parts_ms(breakdown, sampled)
        for part, milliseconds in parts_ms(drawn, sampled).items():
            rows.append((*about, part, milliseconds, recorded[part], drawn[CORRECTED].iloc[0]))
    return pd.DataFrame(rows, columns=PARTS_COLUMNS)
