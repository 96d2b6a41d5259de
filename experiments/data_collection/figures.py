"""This file holds the figures of data collection: what each draws of the measurements of a machine, and its caption."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from experiments.data_collection.complexity_figure import complexity_figure
from experiments.data_collection.layers import crossing_table, share_table
from experiments.data_collection.layers_figures import crossings_figure, layers_figure
from experiments.data_collection.measurements import Measurements
from experiments.data_collection.robots.figure import limits_figure, limits_table
from experiments.data_collection.robots.lines import ANT, CHEETAH, fusion_table
from experiments.data_collection.speedups import speedup_table
from experiments.data_collection.tables import (
    collection_table,
    copy_limit,
    inference_limits_of,
    simulation_table,
    simulators_table,
)
from experiments.data_collection.throughput_figure import throughput_figure
from experiments.verdicts.published import Published

PUBLISHED = Published(Path(__file__).parent)
COLLECTED = "Data collected (samples/s)"
SIMULATED = "Simulation (steps/s)"

Drawn = tuple[Figure, pd.DataFrame]


def simulators(results: Measurements) -> Drawn | None:
    """Return figure 2: simulators on XLA."""
    table = simulators_table(results.measured)
    if table.empty:
        return None
    return throughput_figure(table, {}, SIMULATED, PUBLISHED.lines("figure_2_simulators")), table


def data_collection(results: Measurements) -> Drawn | None:
    """Return figure 4: simulation and inference."""
    table = collection_table(results.measured)
    if table.empty:
        return None
    lines = PUBLISHED.lines("figure_4_data_collection")
    return throughput_figure(table, inference_limits_of(results), COLLECTED, lines), table


def xla_breakdown(results: Measurements) -> Drawn | None:
    """Return figure 5: where the time of XLA's collection goes."""
    if results.layers.empty:
        return None
    table = share_table(results.layers)
    return layers_figure(table, PUBLISHED.outlines("figure_5_xla_breakdown")), table


def xla_transitions(results: Measurements) -> Drawn | None:
    """Return figure 6: how often it crosses layers."""
    if results.crossings.empty:
        return None
    table = crossing_table(results.crossings)
    return crossings_figure(table), table


def kernel_fusion(results: Measurements) -> Drawn | None:
    """Return figure 8: simulation alone."""
    table = simulation_table(results.measured)
    return (throughput_figure(table, copy_limit(results.measured), SIMULATED), table) if len(table) else None


def simulator_complexity(results: Measurements) -> Drawn | None:
    """Return figure 9: what fusion brings simulators that move or compute more."""
    table = speedup_table(results.measured)
    table = table[table["environments"].isin(environments_of_grid(table))] if len(table) else table
    return (complexity_figure(table, PUBLISHED.lines("figure_9_simulator_complexity")), table) if len(table) else None


def robot_fusion(robot: str, results: Measurements) -> Drawn | None:
    """Return a robot in one kernel, and on XLA."""
    table = fusion_table(results.measured, robot)
    return (throughput_figure(table, {}, SIMULATED), table) if len(table) else None


def robot_limits(results: Measurements) -> Drawn | None:
    """Return what fusion brings CartPole and robots, and how near their kernels are to the device's limits."""
    table = limits_table(results.measured, results.robot_limits)
    return (limits_figure(table), table) if len(table) else None


#: Name, what draws it, and its caption.
FIGURES: Sequence[tuple[str, Callable[[Measurements], Drawn | None], str]] = (
    ("figure_2_simulators", simulators, "Simulators on XLA, without a policy."),
    ("figure_4_data_collection", data_collection, "Simulation and inference."),
    (
        "figure_5_xla_breakdown",
        xla_breakdown,
        "Where the time of collecting with XLA goes, by the steps that one call makes; "
        "recorded by RL-Scope. The CSV says whether what recording added is subtracted.",
    ),
    (
        "figure_6_xla_transitions",
        xla_transitions,
        "How often one call of XLA's collection crosses from Python into the backend and "
        "into CUDA, and how many kernels it executes; recorded by RL-Scope.",
    ),
    (
        "figure_8_kernel_fusion",
        kernel_fusion,
        "Simulation only: the steps of a call fused, and one by one.",
    ),
    (
        "figure_9_simulator_complexity",
        simulator_complexity,
        "What fusing K steps brings a hand-written kernel whose steps move S times the state and compute C times.",
    ),
    (
        "fig_robot_fusion",
        partial(robot_fusion, CHEETAH),
        "A robot with contact, the half-cheetah: one hand-written kernel, XLA, and MuJoCo Warp.",
    ),
    (
        "fig_ant_fusion",
        partial(robot_fusion, ANT),
        "A robot in space, the ant: one hand-written kernel, XLA, and MuJoCo Warp.",
    ),
    (
        "fig_robot_limits",
        robot_limits,
        "What fusing K steps brings CartPole and robots with contact, and how near their kernels are to the limits of "
        "the device while they run; counted by RL-Scope.",
    ),
)


def environments_of_grid(table: pd.DataFrame) -> list[int]:
    """Return the numbers of environments for which complexity was varied."""
    varied = table[(table["state_factor"] > 1) | (table["compute_factor"] > 1)]
    return sorted(varied["environments"].unique())
