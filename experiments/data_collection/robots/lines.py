"""This file knows which lines are of robots with contact, and which of them a figure compares."""

import pandas as pd

from experiments.data_collection.speedups import ACCURATE
from experiments.data_collection.throughput import SIMULATE, Series, Throughputs, throughput_table

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
