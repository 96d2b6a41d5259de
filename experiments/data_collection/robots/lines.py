"""This file knows which lines are of robots with contact, and which of them a figure compares."""

import pandas as pd

from experiments.data_collection.speedups import ACCURATE
from experiments.data_collection.throughput import SIMULATE, Series, Throughputs, throughput_table

CHEETAH, ANT = "Planar HalfCheetah", "Spatial Ant"
#: By how much a step of each computes, least first.
ROBOTS = ("Planar Hopper", "Planar Walker2d", CHEETAH, ANT)
#: The other ways to simulate a robot, which XLA calls, by the name of the simulator in rows.
ON_XLA = {
    CHEETAH: {
        CHEETAH: "XLA, same equations",
        "MuJoCo HalfCheetah": "MJX, same model",
        "MuJoCo-Warp HalfCheetah": "MuJoCo Warp, same model",
        "Brax halfcheetah": "Brax, spring pipeline",
    },
    ANT: {
        ANT: "XLA, same equations",
        "MuJoCo Ant": "MJX, same model",
        "MuJoCo-Warp Ant": "MuJoCo Warp, same model",
        "Brax ant": "Brax, spring pipeline",
    },
}
#: It is among the simulators of `figure_2_simulators`, too.
SHARED = "Brax ant"
#: Steps of a call where the kernel is compared with XLA.
COMPARED_STEPS = 10
FUSED = (10, 100)


def is_of_robots(series: Series) -> bool:
    """Return whether it is only here because the kernel simulates that robot, in whatever way."""
    ways = {way for ways in ON_XLA.values() for way in ways}
    return series.simulator in {*ROBOTS, *ways} - {SHARED}


def kernel(simulator: str, steps_per_call: int) -> Series:
    """Return the line of the kernel of a robot, or of CartPole."""
    return Series(SIMULATE, "CUDA", steps_per_call, ACCURATE, simulator)


def on_xla(simulator: str) -> Series:
    """Return the line of one of the ways on XLA."""
    return Series(SIMULATE, "XLA", COMPARED_STEPS, simulator=simulator)


def fusion_table(measured: Throughputs, robot: str) -> pd.DataFrame:
    """Return a robot in each way, as a table for `throughput_figure`; empty where no kernel of it was measured."""
    ways = [(kernel(robot, steps), "CUDA", f"CUDA, one kernel, K = {steps}") for steps in (1, *FUSED)]
    if not any(measured.line(series) for series, _, _ in ways):
        return pd.DataFrame()
    ways += [(on_xla(simulator), name, f"{name}, K = {COMPARED_STEPS}") for simulator, name in ON_XLA[robot].items()]
    tables = [
        throughput_table(measured, [series]).assign(family=family, series=name)
        for series, family, name in ways
        if measured.line(series)
    ]
    return pd.concat(tables, ignore_index=True)
