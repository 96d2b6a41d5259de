"""This file holds the metrics of claims about robots with contact: one kernel beside XLA, fusion, and memory."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import pandas as pd

from experiments.data_collection.robots.lines import (
    COMPARED,
    COMPARED_STEPS,
    FUSED,
    ON_XLA,
    ROBOTS,
    gains,
    kernel,
    on_xla,
)
from experiments.data_collection.throughput import Line, Throughputs
from experiments.verdicts.statistics import TIMINGS, Estimate, estimated, estimated_mean

#: Claims are about so many environments and more.
LEAST_ENVIRONMENTS = 4096

#: What simulates, and how many environments.
Cell = tuple[str, int]
KERNEL = "the kernel"


def robot_metrics(measured: Throughputs, limits: pd.DataFrame) -> dict[str, Estimate | None]:
    """Return what can be said of a machine's robots.

    Args:
        measured: its lines.
        limits: as of robot_limits.csv.
    """
    ways = {simulator: measured.line(on_xla(simulator)) for simulator in ON_XLA}
    alone = measured.line(kernel(COMPARED, COMPARED_STEPS))
    return {
        "robot_kernel_to_fastest_xla": over(alone, {name: line for name, line in ways.items() if line}, least_ratio),
        "robot_kernel_to_same_equations": over(alone, {COMPARED: ways[COMPARED]}, mean_ratio),
        "robot_kernel_to_mjx": over(alone, {"MJX": ways["MuJoCo HalfCheetah"]}, mean_ratio),
        "robot_fusion_gain": most_fusion_gain(measured),
        "robot_single_bandwidth_percent": most_bandwidth(limits),
    }


def over(alone: Line, ways: Mapping[str, Line], metric: Callable[["Means"], float]) -> Estimate | None:
    """Return a metric of the kernel beside other ways, over the environments that all were measured with.

    Ways are compared where they were measured: one that lacks the most environments takes no part there.
    """
    groups: dict[Cell, Sequence[float]] = {
        (name, environments): line[environments]
        for (name, line), environments in product(ways.items(), alone)
        if environments >= LEAST_ENVIRONMENTS and environments in line
    }
    if not groups:
        return None
    groups |= {(KERNEL, environments): alone[environments] for _, environments in list(groups)}
    return estimated(groups, metric, TIMINGS)


Means = Mapping[Cell, float]


def ratios(means: Means) -> list[float]:
    """Return the kernel's throughput over that of each other cell."""
    return [means[KERNEL, number] / value for (name, number), value in means.items() if name != KERNEL]


def least_ratio(means: Means) -> float:
    """Return the smallest of the ratios."""
    return min(ratios(means))


def mean_ratio(means: Means) -> float:
    """Return the mean of the ratios."""
    found = ratios(means)
    return sum(found) / len(found)


def most_fusion_gain(measured: Throughputs) -> Estimate | None:
    """Return what the most fused steps bring the robot that gains most."""
    found = [gain for (simulator, steps), gain in gains(measured).items() if simulator in ROBOTS and steps == FUSED[-1]]
    return max(found, key=lambda gain: gain.value, default=None)


def most_bandwidth(limits: pd.DataFrame) -> Estimate | None:
    """Return the bandwidth that the robot uses most of whose steps are not fused, in percent of the device's."""
    chosen = limits[
        (limits["metric"] == "dram_throughput") & (limits["steps_per_call"] == 1) & limits["simulator"].isin(ROBOTS)
    ]
    found = [estimated_mean(list(rows["percent"])) for _, rows in chosen.groupby("simulator")]
    return max(found, key=lambda estimate: estimate.value, default=None)
