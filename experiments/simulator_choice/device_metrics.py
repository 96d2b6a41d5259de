"""This file holds the metrics of claims about simulators on a GPU, and the table behind their figure."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from experiments.simulator_choice.device_measurements import BUSY, IN_ONE_CALL, KEY, Tables
from experiments.verdicts.statistics import Estimate, estimated, estimated_mean
from rlscope.model import STAGES
from rlscope.plots.style import BETWEEN_STAGES

#: What a step of all environments is made of, in the order of the figure.
PARTS = (*STAGES, IN_ONE_CALL, BETWEEN_STAGES)
#: Of the robots: names in runs.toml are `brax_parts`, `brax_whole`.
ROBOTS = ("brax", "mjx")

#: Numbers of one run, by name.
Numbers = Mapping[str, float]
#: The numbers of each repetition, by workload.
Runs = Mapping[str, Sequence[Numbers]]


def numbers_of(stages: pd.DataFrame, counts: pd.Series) -> dict[str, float]:
    """Return what one run says: shares of its loop in percent, and what a step of all environments takes.

    Args:
        stages: of `Tables`, of this run.
        counts: likewise, its row.
    """
    loop_s = stages["seconds"].sum()
    by_stage = stages.groupby("stage")["seconds"].sum()
    found = {f"{part}_percent": 100 * float(by_stage.get(part, 0.0)) / loop_s for part in PARTS}
    found["busy_percent"] = 100 * stages.loc[stages["gpu"] == BUSY, "seconds"].sum() / loop_s
    for count in ("launches", "kernels", "waits"):
        found[f"{count}_per_step"] = counts[count] / counts["steps"]
    found["steps_per_s"] = counts["steps_per_s"]
    if "simulation" in by_stage:
        physics = counts["physics_steps"] * counts["environments"] * counts["steps"]
        found["physics_per_s"] = physics / by_stage["simulation"]
    return {name: float(value) for name, value in found.items()}


def runs_of(tables: Tables) -> Runs:
    """Return the numbers of each run."""
    found: dict[str, list[Numbers]] = {}
    stages = dict(list(tables.stages.groupby(KEY)))
    for _, counts in tables.counts.iterrows():
        key = counts["workload"], counts["repetition"]
        found.setdefault(str(counts["workload"]), []).append(numbers_of(stages[key], counts))
    return found


def metrics_of(tables: Tables) -> dict[str, Estimate]:
    """Return the metrics of claims.toml whose workloads have run."""
    runs = runs_of(tables)

    def mean(workload: str, name: str) -> Estimate | None:
        return estimated_mean([run[name] for run in runs[workload]]) if workload in runs else None

    found = {
        "smallest_robot_simulation_percent": smallest(runs, lambda robot: [(f"{robot}_parts", "simulation_percent")]),
        "smallest_whole_busy_percent": smallest(runs, lambda robot: [(f"{robot}_whole", "busy_percent")]),
        "smallest_parts_to_whole_launches": smallest(
            runs, lambda robot: [(f"{robot}_{calls}", "launches_per_step") for calls in ("parts", "whole")]
        ),
        "rsl_rl_busy_percent": mean("rsl_rl", "busy_percent"),
        "rsl_rl_waits_per_step": mean("rsl_rl", "waits_per_step"),
        "mjx_parts_physics_per_s": mean("mjx_parts", "physics_per_s"),
        "mjx_whole_steps_per_s": mean("mjx_whole", "steps_per_s"),
        "cartpole_fused_steps_per_s": mean("cartpole_fused", "steps_per_s"),
    }
    return {name: estimate for name, estimate in found.items() if estimate is not None}


def smallest(runs: Runs, terms: Callable[[str], Sequence[tuple[str, str]]]) -> Estimate | None:
    """Return the smallest of the robots, if all have run.

    Args:
        runs: all.
        terms: from a robot to the workload and the number that count; of two, the first over the second.
    """
    of_robots = [terms(robot) for robot in ROBOTS]
    if not all(workload in runs for robot in of_robots for workload, _ in robot):
        return None
    groups = {
        (workload, name): [run[name] for run in runs[workload]] for robot in of_robots for workload, name in robot
    }

    def metric(means: Mapping[tuple[str, str], float]) -> float:
        return min(means[over[0]] / (means[over[1]] if len(over) > 1 else 1) for over in of_robots)

    return estimated(groups, metric)


def device_table(tables: Tables) -> pd.DataFrame:
    """Return the table behind the figure: of each workload the means over its runs, with 95 % intervals.

    Returns:
        workload; what `numbers_of` returns, with the ends of its interval; repetitions.
    """
    rows = []
    for workload, runs in runs_of(tables).items():
        row: dict[str, object] = {"workload": workload}
        for name in runs[0]:
            row |= estimated_mean([run[name] for run in runs]).columns(name)
        rows.append({**row, "repetitions": len(runs)})
    return pd.DataFrame(rows)
