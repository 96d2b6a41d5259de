"""This file knows which lines are of robots with contact, and what fused steps bring each of them."""

from collections.abc import Mapping, Sequence

import pandas as pd

from experiments.data_collection.speedups import ACCURATE
from experiments.data_collection.throughput import CARTPOLE, SIMULATE, Line, Series, Throughputs, throughput_table
from experiments.verdicts.statistics import TIMINGS, Estimate, estimated

#: The robot that XLA simulates too.
COMPARED = "Planar HalfCheetah"
#: By how much a step of each computes, least first.
ROBOTS = ("Planar Hopper", "Planar Walker2d", COMPARED)
#: The other ways to simulate it, which XLA calls, by the name of the simulator in rows.
ON_XLA = {
    COMPARED: "XLA, same equations",
    "MuJoCo HalfCheetah": "MJX, same model",
    "MuJoCo-Warp HalfCheetah": "MuJoCo Warp, same model",
    "Brax halfcheetah": "Brax, spring pipeline",
}
#: Steps of a call where the kernel is compared with XLA.
COMPARED_STEPS = 10
FUSED = (10, 100)


def is_of_robots(series: Series) -> bool:
    """Return whether it is of a robot that the kernel simulates, in whatever way."""
    return series.simulator in ROBOTS or series.simulator in ON_XLA


def kernel(simulator: str, steps_per_call: int) -> Series:
    """Return the line of the kernel of a robot, or of CartPole."""
    return Series(SIMULATE, "CUDA", steps_per_call, ACCURATE, simulator)


def on_xla(simulator: str) -> Series:
    """Return the line of one of the ways on XLA."""
    return Series(SIMULATE, "XLA", COMPARED_STEPS, simulator=simulator)


def fusion_table(measured: Throughputs) -> pd.DataFrame:
    """Return the half-cheetah in each way, as a table for `throughput_figure`; empty where no kernel of it was
    measured.
    """
    ways = [(kernel(COMPARED, steps), "CUDA", f"CUDA, one kernel, K = {steps}") for steps in (1, *FUSED)]
    if not any(measured.line(series) for series, _, _ in ways):
        return pd.DataFrame()
    ways += [(on_xla(simulator), name, f"{name}, K = {COMPARED_STEPS}") for simulator, name in ON_XLA.items()]
    tables = [
        throughput_table(measured, [series]).assign(family=family, series=name)
        for series, family, name in ways
        if measured.line(series)
    ]
    return pd.concat(tables, ignore_index=True)


def gains(measured: Throughputs) -> Mapping[tuple[str, int], Estimate]:
    """Return what K steps in one launch bring, by simulator and K: for the most environments that were measured."""
    found = {}
    for simulator in (CARTPOLE, *ROBOTS):
        single = measured.line(kernel(simulator, 1))
        for steps in FUSED:
            gain = gain_of(measured.line(kernel(simulator, steps)), single)
            if gain is not None:
                found[simulator, steps] = gain
    return found


def gain_of(fused: Line, single: Line) -> Estimate | None:
    """Return the ratio of two lines for the most environments of both."""
    common = [environments for environments in fused if environments in single]
    if not common:
        return None
    groups: dict[str, Sequence[float]] = {"fused": fused[max(common)], "single": single[max(common)]}
    return estimated(groups, lambda means: means["fused"] / means["single"], TIMINGS)
