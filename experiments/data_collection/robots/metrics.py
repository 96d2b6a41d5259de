"""This file holds the metrics of claims about robots with contact: one kernel beside XLA, fusion, and memory."""

from collections.abc import Mapping, Sequence

import pandas as pd

from experiments.data_collection.metrics import arithmetic_mean, mean_ratio
from experiments.data_collection.robots.lines import ANT, CHEETAH, COMPARED_STEPS, FUSED, ON_XLA, ROBOTS, kernel, on_xla
from experiments.data_collection.throughput import CARTPOLE, Line, Throughputs
from experiments.verdicts.statistics import TIMINGS, Estimate, estimated, estimated_mean

#: Claims are about so many environments and more.
LEAST_ENVIRONMENTS = 4096

#: What simulates, and how many environments.
Cell = tuple[str, int]
KERNEL = "the kernel"


def robot_metrics(measured: Throughputs, limits: pd.DataFrame) -> dict[str, Estimate]:
    """Return what can be said of a machine's robots.

    Args:
        measured: its lines.
        limits: as of robot_limits.csv.
    """
    found = {
        **beside_xla(measured, CHEETAH, "robot"),
        **beside_xla(measured, ANT, "ant"),
        "robot_fusion_gain": most_fusion_gain(measured),
        "ant_fusion_gain": gains(measured).get((ANT, FUSED[-1])),
        "robot_single_bandwidth_percent": most_bandwidth(limits),
    }
    return {name: estimate for name, estimate in found.items() if estimate is not None}


def beside_xla(measured: Throughputs, robot: str, name: str) -> dict[str, Estimate | None]:
    """Return how much faster the kernel of a robot is than the other ways, by metrics that begin with a name."""
    alone = many(measured.line(kernel(robot, COMPARED_STEPS)))
    ways = {simulator: many(measured.line(on_xla(simulator))) for simulator in ON_XLA[robot]}
    same, mjx = (mean_ratio(alone, ways[way], arithmetic_mean, most=None) for way in list(ways)[:2])
    return {
        f"{name}_kernel_to_fastest_xla": least_ratio(alone, ways),
        f"{name}_kernel_to_same_equations": same,
        f"{name}_kernel_to_mjx": mjx,
    }


def many(line: Line) -> Line:
    """Return the part of a line that claims are about."""
    return {environments: values for environments, values in line.items() if environments >= LEAST_ENVIRONMENTS}


def least_ratio(alone: Line, ways: Mapping[str, Line]) -> Estimate | None:
    """Return the smallest ratio of the kernel to any other way, each for the environments that it was measured with."""
    groups: dict[Cell, Sequence[float]] = {
        (name, environments): values
        for name, line in ways.items()
        for environments, values in line.items()
        if environments in alone
    }
    if not groups:
        return None
    others = list(groups)
    groups |= {(KERNEL, environments): alone[environments] for _, environments in others}

    def least(means: Mapping[Cell, float]) -> float:
        return min(means[KERNEL, environments] / means[name, environments] for name, environments in others)

    return estimated(groups, least, TIMINGS)


def gains(measured: Throughputs) -> Mapping[tuple[str, int], Estimate]:
    """Return what K steps in one launch bring, by simulator and K: for the most environments that were measured."""
    found = {
        (simulator, steps): gain_of(measured.line(kernel(simulator, steps)), measured.line(kernel(simulator, 1)))
        for simulator in (CARTPOLE, *ROBOTS)
        for steps in FUSED
    }
    return {place: gain for place, gain in found.items() if gain is not None}


def gain_of(fused: Line, single: Line) -> Estimate | None:
    """Return the ratio of two lines for the most environments of both."""
    most = max((environments for environments in fused if environments in single), default=None)
    if most is None:
        return None
    return mean_ratio({most: fused[most]}, {most: single[most]}, arithmetic_mean, most=None)


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
