"""Recorded sampling to what a vector step is made of: steps and resets of an environment, inference, waiting, the rest."""

import pandas

from experiments.sampling_results import Sampled
from rlscope.analysis.breakdown import Analysis
from rlscope.plots.sampling import PART_LOOKS

#: Names that the workload gives.
SAMPLING, RESET = "sampling", "reset"


def parts_ms(analysis: Analysis, sampled: Sampled) -> dict[str, float]:
    """Milliseconds of the parts of a vector step: the keys of PART_LOOKS.

    A process that asks the policy is one that samples. Its environments are its own, or in processes of their own: then
    what it waits for them is longer than an environment's own time by the time that this one waits for others. It
    also waits when it is done before other processes that sample. The first reset of each environment is not counted.

    Args:
        analysis: of the recorded run.
        sampled: what it printed.
    """
    vector_steps = sampled.steps * len(sampled.iterations)
    whole_s = sum(sampled.sampling_s) / vector_steps
    rows = analysis.breakdown
    samplers = sampling_processes(rows)
    asking = rows[rows["process"].isin(samplers)]
    asking = asking[asking["phase"] == SAMPLING] if SAMPLING in set(asking["phase"]) else asking
    per_step = 1 / vector_steps / max(1, len(samplers))
    inference_s = seconds(asking, "inference") * per_step
    busy_s = float(asking["seconds"].sum()) * per_step
    stepping_s = seconds(asking, "simulation") * per_step
    step_s, reset_s = environment_s(rows, samplers, sampled)
    in_steps_s = waiting_s(asking) * per_step - step_s - reset_s if has_own_processes(rows, samplers) else 0.0
    wait_s = max(0.0, in_steps_s) + max(0.0, whole_s - busy_s)
    known = {"inference": inference_s, "simulation": min(step_s, stepping_s), "reset": reset_s, "wait": wait_s}
    rest_s = max(0.0, whole_s - sum(known.values()))
    return {part: 1000 * {**known, "rest": rest_s}[part] for part in PART_LOOKS}
