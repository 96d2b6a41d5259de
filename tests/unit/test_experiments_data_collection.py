"""What the data-collection study makes of measured rows and recorded collections."""

import dataclasses
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import collect
import pandas as pd
import pytest
from executed_runs import leave_run, measured_on, on
from matplotlib.colors import to_rgb

from benchmarks.trace_writer import TraceWriter
from experiments.data_collection import figures
from experiments.data_collection import run as study
from experiments.data_collection.device_limits import FLOATING_POINT_OPERATIONS, TANHS, inference_limits
from experiments.data_collection.layers import CROSSING_COLUMNS, LAYER_COLUMNS, OPERATION, crossing_table, share_table
from experiments.data_collection.measurements import Measurements, load
from experiments.data_collection.metrics import metrics_of
from experiments.data_collection.robots.figure import GAIN, limits_table
from experiments.data_collection.robots.limits import COLUMNS
from experiments.data_collection.speedups import speedup_table
from experiments.data_collection.tables import collection_table, distance_table, simulation_table, simulators_table
from experiments.data_collection.throughput import (
    COLLECT,
    SIMULATE,
    Series,
    left_out_table,
    plateau,
    read_rows,
    throughputs_of,
)
from experiments.harness import case_study
from experiments.harness.case_study import CaseStudy
from experiments.harness.execute import Execution, command_of
from experiments.harness.matrix import load_matrix
from experiments.harness.progress import Recorded, StudyRun
from experiments.harness.provenance import Provenance
from experiments.verdicts import other_machines
from experiments.verdicts.claims import DIFFERS, HOLDS, NOT_TESTABLE, UNDECIDED, Verdict, load_claims
from experiments.verdicts.other_machines import THIS_MACHINE, origin_of, verdicts_of
from rlscope.build import built_from
from rlscope.errors import UsageError
from rlscope.model import Category
from rlscope.plots.style import save_figure

Row = dict[str, Any]
NO_LAYERS = pd.DataFrame(columns=LAYER_COLUMNS)
NO_CROSSINGS = pd.DataFrame(columns=CROSSING_COLUMNS)


def row(
    implementation: str,
    environments: int,
    steps_per_s: float,
    steps_per_call: int = 1,
    quantity: str = COLLECT,
    variant: str = "",
    **others: object,
) -> Row:
    """Three repetitions of a second."""
    return {
        "implementation": implementation,
        "quantity": quantity,
        "simulator": "CartPole",
        "device": "cuda",
        "environments": environments,
        "steps_per_call": steps_per_call,
        "state_factor": 1,
        "compute_factor": 1,
        "variant": variant,
        "steps": steps_per_s,
        "seconds": [1.0, 1.0, 1.0],
        "calls": [1, 1, 1],
        **others,
    }


def left_out(found: Row, why: str) -> Row:
    return {key: value for key, value in found.items() if key not in ("steps", "seconds", "calls")} | {"left_out": why}


def collected() -> list[Row]:
    """Collection of which every ratio is known."""
    return [
        row("Gymnasium", 1, 100),
        row("Gymnasium", 1024, 200),
        row("C++ threads", 1024, 800),
        row("PyTorch", 1, 50),
        row("PyTorch", 8192, 400_000),
        row("PyTorch", 1, 100, 1000),
        row("XLA", 1, 200),
        row("XLA", 8192, 1_600_000),
        row("XLA", 65536, 1_700_000),
        row("XLA", 1, 3200, 1000),
        row("XLA", 8192, 6_400_000, 1000),
        row("CUDA", 8192, 8_000_000, 1000, variant="accurate"),
        row("CUDA", 8192, 16_000_000, 1000, variant="approximate"),
        row("CUDA", 8192, 64_000_000, 1000, variant="matrix units"),
        row("CUDA", 8192, 32_000_000, 100, variant="matrix units + data"),
        row("CUDA", 8192, 4_000_000, 1, variant="matrix units"),
    ]


def simulated() -> list[Row]:
    """Simulation of which every ratio is known."""
    return [
        row("XLA", 1, 10, 1, SIMULATE),
        row("XLA", 1, 40, 10, SIMULATE),
        row("XLA", 4096, 40_000, 10, SIMULATE),
        row("XLA", 65536, 80_000, 10, SIMULATE),
        row("XLA", 1, 80, 1000, SIMULATE),
        row("C++ threads", 1, 160, 1000, SIMULATE),
        row("CUDA", 1, 160, 1, SIMULATE, "accurate"),
        row("CUDA", 1, 3200, 1000, SIMULATE, "accurate"),
        row("CUDA", 1 << 23, 3e11, 1, SIMULATE, "accurate"),
        row("CUDA", 1 << 23, 3e12, 1000, SIMULATE, "accurate"),
        row("CUDA", 1 << 23, 4e12, 1000, SIMULATE, "approximate"),
        row("Copy", 1 << 26, 4e11, 1, SIMULATE),
        row("XLA", 1, 400, 10, SIMULATE, simulator="gymnax Acrobot-v1"),
        row("XLA", 1, 100, 10, SIMULATE, simulator="Brax ant"),
        row("XLA", 4096, 4_000, 10, SIMULATE, simulator="Brax ant"),
        row("XLA", 4096, 2_000, 10, SIMULATE, simulator="MJX humanoid"),
    ]


def robots() -> list[Row]:
    """Robots in one kernel and on XLA, of which every ratio is known."""

    def on_xla(simulator: str, environments: int, steps_per_s: float) -> Row:
        return row("XLA", environments, steps_per_s, 10, SIMULATE, simulator=simulator)

    def in_kernel(simulator: str, environments: int, steps_per_s: float, steps: int) -> Row:
        return row("CUDA", environments, steps_per_s, steps, SIMULATE, "accurate", simulator=simulator)

    return [
        in_kernel("Planar HalfCheetah", 64, 10, 10),
        in_kernel("Planar HalfCheetah", 4096, 1000, 10),
        in_kernel("Planar HalfCheetah", 65536, 2000, 10),
        in_kernel("Planar HalfCheetah", 65536, 2500, 1),
        in_kernel("Planar HalfCheetah", 65536, 2000, 100),
        in_kernel("Planar Hopper", 65536, 5000, 1),
        in_kernel("Planar Hopper", 65536, 6000, 100),
        on_xla("Planar HalfCheetah", 64, 10),
        on_xla("Planar HalfCheetah", 4096, 100),
        on_xla("Planar HalfCheetah", 65536, 100),
        on_xla("MuJoCo HalfCheetah", 4096, 10),
        on_xla("Brax halfcheetah", 65536, 500),
        in_kernel("Spatial Ant", 8192, 400, 1),
        in_kernel("Spatial Ant", 8192, 360, 10),
        in_kernel("Spatial Ant", 8192, 300, 100),
        on_xla("Spatial Ant", 8192, 60),
        on_xla("MuJoCo Ant", 8192, 20),
        on_xla("MuJoCo-Warp Ant", 8192, 120),
    ]


#: K, S and C to speedup, by environments: a grid in which more state helps, and more computation does not.
GRID = {
    1 << 23: {
        (10, 1, 1): 5,
        (10, 4, 1): 8,
        (1000, 4, 1): 100,
        (1000, 64, 1): 500,
        (1000, 1, 32): 4,
        (1000, 1, 1024): 1,
    },
    1 << 24: {(1000, 4, 1): 125},
}


def complexity() -> list[Row]:
    """The rows of GRID, besides those that are of the task as it is."""
    rows = []
    for environments, cells in GRID.items():
        for state, compute in {(state, compute) for _, state, compute in cells} - {(1, 1)}:
            factors = {"state_factor": state, "compute_factor": compute}
            rows.append(row("CUDA", environments, 1000, 1, SIMULATE, "accurate", **factors))
            rows += [
                row("CUDA", environments, 1000 * speedup, steps, SIMULATE, "accurate", **factors)
                for (steps, s, c), speedup in cells.items()
                if (s, c) == (state, compute)
            ]
    return [*rows, row("CUDA", 1 << 23, 1.5e12, 10, SIMULATE, "accurate")]


LAYERS = pd.DataFrame(
    [
        (1, 0, "python", "cpu", 0.5),
        (1, 0, "backend", "cpu", 0.25),
        (1, 0, "cuda", "cpu+gpu", 0.25),
        (10, 0, "python", "cpu", 0.25),
        (10, 0, "gpu", "gpu", 0.75),
        (1000, 0, "python", "cpu", 0.1),
        (1000, 0, "backend", "cpu+gpu", 0.4),
        (1000, 0, "gpu", "gpu", 0.5),
    ],
    columns=LAYER_COLUMNS[:5],
)
LAYERS = LAYERS.assign(uncorrected_seconds=LAYERS["seconds"], corrected="no")

CROSSINGS = pd.DataFrame(
    [(1, 0, 20, 2.0, 5.0, 3.0), (10, 0, 20, 2.0, 50.0, 30.0), (1000, 0, 20, 3.0, 5000.0, 2700.0)],
    columns=CROSSING_COLUMNS,
)


ROBOT_LIMITS = pd.DataFrame(
    [
        ("CartPole", 1, 64, 0, "dram_throughput", 90.0),
        ("Planar HalfCheetah", 1, 64, 0, "dram_throughput", 2.0),
        ("Planar HalfCheetah", 1, 64, 1, "dram_throughput", 4.0),
        ("Planar HalfCheetah", 100, 64, 0, "dram_throughput", 30.0),
        ("Planar HalfCheetah", 1, 64, 0, "sm_efficiency", 98.0),
        ("Planar Hopper", 1, 64, 0, "dram_throughput", 1.0),
    ],
    columns=COLUMNS,
)
NO_ROBOT_LIMITS = ROBOT_LIMITS.iloc[:0]


def results(rows: list[Row], device: str = "cuda", budget: str = "quick") -> Measurements:
    layers, crossings = (
        pd.concat([table.assign(repetition=repetition) for repetition in range(3)], ignore_index=True)
        for table in (LAYERS, CROSSINGS)
    )
    measured = {"rows": rows, "layers": layers, "crossings": crossings, "robot_limits": ROBOT_LIMITS}
    return Measurements(**measured_on(device, budget), **measured)


def test_a_row_is_throughput() -> None:
    measured = throughputs_of([row("XLA", 4, 80, seconds=[1.0, 2.0]), row("XLA", 2, 10)])
    assert measured.line(Series(COLLECT, "XLA")) == {2: [10, 10, 10], 4: [80, 40]}
    assert list(measured.line(Series(COLLECT, "XLA"))) == [2, 4]


def test_rows_of_other_processes_are_repetitions() -> None:
    measured = throughputs_of([row("XLA", 4, 80), row("XLA", 4, 40)])
    assert measured.line(Series(COLLECT, "XLA")) == {4: [80, 80, 80, 40, 40, 40]}


def test_a_cell_that_was_left_out_is_told_unless_it_was_measured_another_time() -> None:
    full = left_out(row("XLA", 1 << 30, 1), "needs 1 TB")
    slow = left_out(row("XLA", 1 << 20, 1), "too slow")
    measured = throughputs_of([full, slow, row("XLA", 1 << 20, 5)])
    table = left_out_table(measured)
    assert list(table["environments"]) == [str(1 << 30)]
    assert list(table["why"]) == ["needs 1 TB"]
    assert measured.line(Series(COLLECT, "XLA")) == {1 << 20: [5, 5, 5]}


@pytest.mark.parametrize("damage", ['{"implementation": "XLA"', '{"implementation": "XLA"}', "[]", '"text"'])
def test_a_damaged_row_is_named_by_its_line(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row("XLA", 1, 1)) + "\n" + damage + "\n")
    with pytest.raises(UsageError, match=r"rows.jsonl, line 2: expected a row of workloads/collect.py, found "):
        read_rows(path)


def test_rows_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected rows of workloads/collect.py, found: No such file"):
        read_rows(tmp_path / "rows.jsonl")


def test_a_plateau_begins_near_the_best() -> None:
    assert plateau({1: [10.0], 2: [89.0], 4: [92.0], 8: [100.0], 16: [98.0]}) == (4, 100.0)


def test_ratios_of_collection() -> None:
    found = {
        name: estimate.value
        for name, estimate in metrics_of(results(collected()).measured, NO_LAYERS, NO_CROSSINGS).items()
    }
    assert found == pytest.approx(
        {
            "xla_to_gym": 32_000,
            "pytorch_to_gym": 2000,
            "xla_to_pytorch": 16,
            "cpp_to_gym": 4,
            "xla_to_cpp": 8000,
            "cuda_to_best_xla": 10,
            "xla_gain": 8,  # the mean of 16 and 4
            "xla_gain_arithmetic": 10,
            "xla_gain_last_to_first": 0.25,
            "xla_fused_to_pytorch": 32,  # of 64 and 16
            "xla_single_to_pytorch": 4,
            "pytorch_gain_log2": 1,
            "cuda_inference_float32_per_s": 16_000_000,
            "cuda_inference_matrix_units_per_s": 64_000_000,
        }
    )


def test_ratios_of_simulation() -> None:
    found = metrics_of(results(simulated()).measured, NO_LAYERS, NO_CROSSINGS)
    assert {name: estimate.value for name, estimate in found.items()} == pytest.approx(
        {
            "xla_simulation_gain": 8,
            "cuda_to_xla": 40,
            "cpp_to_xla": 2,
            "cuda_gain": 20,
            "cuda_single_to_xla_fused": 2,
            "cuda_fused_to_xla_single": 320,
            "cuda_fused_steps_per_s": 3e12,
            "cuda_single_to_copy": 0.75,
            "cartpole_to_slowest_robot": 20,  # MJX's, up to 2^12 environments
            "cartpole_plateau_to_robots": 16,
            # Of the two places without knobs.
            "least_of_best_speedups_to_steps": 0.02,
            "most_of_best_speedups_to_steps": 0.02,
            "product_of_gains_log2": 1,
        }
    )


def test_metrics_of_complexity() -> None:
    found = metrics_of(results([*simulated(), *complexity()]).measured, NO_LAYERS, NO_CROSSINGS)
    # For 2^23 environments, K = 1000: over S 10, 100, 500; over C 10, 4, 1. For K = 10: 5 and 8.
    assert found["speedup_next_to_last_state"].value == pytest.approx(5)
    assert found["speedup_at_most_state"].value == pytest.approx(500)
    assert found["least_of_best_speedups_to_steps"].value == pytest.approx(0.5)
    assert found["most_of_best_speedups_to_steps"].value == pytest.approx(0.8)
    assert found["speedup_at_most_compute"].value == pytest.approx(1)
    assert found["speedup_next_to_last_compute"].value == pytest.approx(0.4)
    assert found["speedup_spread_over_environments"].value == pytest.approx(1.25)
    # 20 for one environment alone; 3e11 / 160 for more; 3e12 / 160 together.
    assert found["product_of_gains_log2"].value == pytest.approx(math.log2(20 / 10))


def test_a_speedup_is_over_the_same_simulator_without_fusion() -> None:
    table = speedup_table(throughputs_of(complexity() + simulated()))
    cells = {
        environments: {
            (int(line.steps_per_call), int(line.state_factor), int(line.compute_factor)): line.speedup
            for line in table[table["environments"] == environments].itertuples()
        }
        for environments in GRID
    }
    for environments, expected in GRID.items():
        assert cells[environments] == pytest.approx(expected | ({(1000, 1, 1): 10} if environments == 1 << 23 else {}))


def test_shares_and_counts_of_layers() -> None:
    found = {name: estimate.value for name, estimate in metrics_of(throughputs_of([]), LAYERS, CROSSINGS).items()}
    assert found["cpu_only_percent_single"] == pytest.approx(75)
    assert found["gpu_percent_fused"] == pytest.approx(90)
    assert found["cpu_only_largest_rise"] == pytest.approx(-15)
    assert found["python_largest_rise"] == pytest.approx(-15)
    assert found["backend_calls_spread"] == pytest.approx(1.5)
    assert found["launches_slope_off_one"] == pytest.approx(0)
    assert found["kernels_slope_off_one"] == pytest.approx(-math.log10(0.9) * (5 / 3) / (42 / 9))
    assert found["kernels_per_step_spread"] == pytest.approx(3 / 2.7)
    assert found["least_kernels_per_step"] == pytest.approx(2.7)


def test_without_a_gpu_nothing_is_said_of_kernels() -> None:
    crossings = CROSSINGS.assign(cuda=0.0, kernels=0.0)
    found = metrics_of(throughputs_of([]), NO_LAYERS, crossings)
    assert set(found) == {"backend_calls_spread"}


def test_tables_of_layers_have_intervals() -> None:
    other = LAYERS.assign(repetition=1, seconds=LAYERS["seconds"] * [1, 3, 1, 1, 1, 1, 1, 1])
    table = share_table(pd.concat([LAYERS, other, other.assign(repetition=2)]))
    (python,) = table[(table["steps_per_call"] == 1) & (table["category"] == "python")].to_dict("records")
    assert python["percent"] == pytest.approx((50 + 2 * 100 / 3) / 3)
    assert python["percent_low"] < python["percent"] < python["percent_high"]
    assert python["repetitions"] == 3
    assert python["uncorrected_percent"] == 50
    assert set(table["corrected"]) == {"no"}
    assert list(table.groupby("steps_per_call")["percent"].sum()) == pytest.approx([100, 100, 100])
    counts = crossing_table(pd.concat([CROSSINGS, CROSSINGS.assign(repetition=1, backend=4.0)]))
    assert list(counts["steps_per_call"]) == [1, 10, 1000]
    assert list(counts["backend"]) == [3, 3, 3.5]
    assert counts[["backend_low", "backend_high"]].isna().all(axis=None)  # of two repetitions there is none


def test_a_figure_shows_lines_by_name_and_plateau() -> None:
    table = collection_table(throughputs_of(collected()))
    lines = table.drop_duplicates("series").set_index("series")
    assert list(lines.index) == [
        "Gymnasium",
        "C++ threads",
        "PyTorch, K = 1",
        "PyTorch, K = 1000",
        "XLA, K = 1",
        "XLA, K = 1000",
        "CUDA, accurate, K = 1000",
        "CUDA, approximate, K = 1000",
        "CUDA, matrix units, K = 1000",
        "CUDA, matrix units + data, K = 100",
    ]
    assert lines.loc["XLA, K = 1", "best_steps_per_s"] == 1_700_000
    assert lines.loc["XLA, K = 1", "plateau_environments"] == 8192
    assert set(lines.loc["CUDA, accurate, K = 1000":, "family"]) == {"CUDA"}
    assert len(simulation_table(throughputs_of(collected()))) == 0


def test_simulators_are_compared_with_as_many_steps_per_call() -> None:
    table = simulators_table(throughputs_of(simulated()))
    assert list(dict.fromkeys(table["series"])) == ["CartPole", "gymnax Acrobot-v1", "Brax ant", "MJX humanoid"]
    assert set(table["steps_per_call"]) == {10}
    assert len(simulators_table(throughputs_of(collected()))) == 0


def test_limits_follow_from_the_policy_and_the_rates_of_the_device() -> None:
    assert (FLOATING_POINT_OPERATIONS, TANHS) == (8960, 128)
    limits = inference_limits("NVIDIA H200")
    assert limits["float32 arithmetic"] == pytest.approx(7.5e9, rel=0.01)
    assert limits["tanh.approx.f32"] == pytest.approx(3.3e10, rel=0.02)
    assert limits["matrix units' arithmetic"] == pytest.approx(8.8e10, rel=0.01)
    assert inference_limits("another GPU") == {}


def test_how_far_each_is_from_its_limit() -> None:
    table = distance_table(results(collected() + simulated())).set_index(["quantity", "series"])
    assert table.loc[("collect", "CUDA, approximate, K = 1000"), "percent"] == pytest.approx(
        100 * 16e6 / (67e12 / 8960)
    )
    assert table.loc[("collect", "CUDA, matrix units, K = 1000"), "limited by"] == "tanh.approx.f32"
    assert table.loc[("simulate", "CUDA, accurate, K = 1"), "percent"] == pytest.approx(75)
    assert ("simulate", "CUDA, accurate, K = 1000") not in table.index  # its states stay in registers
    assert len(distance_table(results(collected(), "cpu"))) == 0


def test_every_figure_is_drawn_of_what_was_measured(tmp_path: Path) -> None:
    found = results(everything())
    for name, make, _ in study.FIGURES:
        drawn = make(found)
        assert drawn is not None, name
        figure, table = drawn
        assert len(table) > 0
        save_figure(figure, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        assert all(axes.lines or axes.patches for axes in figure.axes)


def test_lines_have_the_colour_of_their_implementation_and_limits_are_named() -> None:
    drawn = figures.data_collection(results(collected()))
    assert drawn is not None
    (axes,) = drawn[0].axes
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend[0] == "Gymnasium: 200"
    assert len(legend) == drawn[1]["series"].nunique()
    notes = [text.get_text() for text in axes.texts if text.get_text().startswith("limit")]
    assert notes == [
        "limit, float32 arithmetic: 7.48 G",
        "limit, tanh.approx.f32: 32.6 G",
        "limit, matrix units' arithmetic: 88.2 G",
    ]
    named = {line.get_label(): line.get_color() for line in axes.lines}
    assert named["XLA, K = 1000: 6.4 M"] == pytest.approx(to_rgb("#0072b2"))
    assert named["XLA, K = 1: 1.7 M"] > named["XLA, K = 1000: 6.4 M"]  # lighter
    on_another = figures.data_collection(replace(results(collected()), machine={"gpus": ["another"], "cores": 2}))
    assert on_another is not None
    assert not [text for text in on_another[0].axes[0].texts if text.get_text().startswith("limit")]


@pytest.mark.parametrize("rows", [[], collected()[:1], [left_out(each, "no memory") for each in collected()]])
def test_little_or_nothing_measured_breaks_no_figure(rows: list[Row]) -> None:
    found = replace(results(rows), layers=NO_LAYERS, crossings=NO_CROSSINGS, robot_limits=NO_ROBOT_LIMITS)
    drawn = {name: make(found) is not None for name, make, _ in study.FIGURES}
    measured = bool(rows) and "left_out" not in rows[0]
    assert drawn == {name: measured and name == "figure_4_data_collection" for name in drawn}
    verdicts = verdicts_of(load_claims(study.HERE / "claims.toml"), found, [], study.measured_metrics)
    assert {verdict.verdict for verdict in verdicts} == {NOT_TESTABLE}
    assert bool(len(left_out_table(found.measured))) == (bool(rows) and not measured)


def everything() -> list[Row]:
    return [*collected(), *simulated(), *complexity(), *robots()]


def test_every_claim_is_measured() -> None:
    found = study.measured_metrics(results(everything()))
    assert {claim.metric for claim in load_claims(study.HERE / "claims.toml")} == set(found)


def test_robots_in_one_kernel_beside_xla() -> None:
    found = study.measured_metrics(results(everything()))
    assert found["robot_kernel_to_fastest_xla"].value == 4  # 65,536 environments, Brax; 64 are too few for the claim
    assert found["robot_kernel_to_same_equations"].value == 15  # the mean of 10 and 20
    assert found["robot_kernel_to_mjx"].value == 100
    assert found["robot_fusion_gain"].value == pytest.approx(1.2)  # the hopper's
    assert found["robot_single_bandwidth_percent"].value == 3  # neither CartPole's nor that with fused steps
    assert found["ant_kernel_to_fastest_xla"].value == 3  # MuJoCo Warp
    assert found["ant_kernel_to_same_equations"].value == 6
    assert found["ant_kernel_to_mjx"].value == 18
    assert found["ant_fusion_gain"].value == pytest.approx(0.75)
    only_cartpole = study.measured_metrics(replace(results(simulated()), robot_limits=NO_ROBOT_LIMITS))
    assert not [name for name in only_cartpole if name.startswith(("robot", "ant"))]


def test_robots_of_the_kernel_are_not_among_the_other_simulators() -> None:
    table = simulators_table(results(everything()).measured)
    assert set(table["simulator"]) == {"CartPole", "gymnax Acrobot-v1", "Brax ant", "MJX humanoid"}
    assert found_gain(everything()) == found_gain([*collected(), *simulated(), *complexity()])


def found_gain(rows: list[Row]) -> float:
    return study.measured_metrics(results(rows))["cartpole_to_slowest_robot"].value


def test_what_limits_robots() -> None:
    found = results(everything())
    table = limits_table(found.measured, found.robot_limits).set_index(["simulator", "steps_per_call", "quantity"])
    assert table.loc[("Planar HalfCheetah", 100, GAIN), "value"] == pytest.approx(0.8)
    assert table.loc[("Planar HalfCheetah", 1, "bandwidth of memory (%)"), "value"] == 3
    assert len(limits_table(results(simulated()).measured, found.robot_limits)) == 0


def verdict_of(verdicts: list[Verdict], metric: str, subject: str) -> Verdict:
    return next(verdict for verdict in verdicts if (verdict.claim.metric, verdict.subject) == (metric, subject))


CLAIMS = load_claims(study.HERE / "claims.toml")


def test_claims_are_judged_by_what_was_measured() -> None:
    verdicts = verdicts_of(CLAIMS, results(everything()), [], study.measured_metrics)
    assert {verdict.claim.hardware for verdict in verdicts} == {"gpu"}
    assert verdict_of(verdicts, "xla_to_gym", THIS_MACHINE).verdict == HOLDS
    assert verdict_of(verdicts, "xla_to_pytorch", THIS_MACHINE).verdict == DIFFERS
    assert verdict_of(verdicts, "xla_single_to_pytorch", THIS_MACHINE).verdict == DIFFERS
    assert verdict_of(verdicts, "cpu_only_percent_single", THIS_MACHINE).verdict == HOLDS
    assert all(verdict.provisional for verdict in verdicts)


@pytest.mark.parametrize(("share", "verdict"), [(None, HOLDS), (0.001, HOLDS), (0.999, UNDECIDED)])
def test_a_machine_without_enough_cores_decides_nothing_that_they_could_turn(
    share: float | None, verdict: str, tmp_path: Path
) -> None:
    replace(results(everything()), no_core_share=share).save(tmp_path / "h200")
    kept = load(tmp_path / "h200")
    assert kept.no_core_share == share
    assert "waited for a core" in kept.source
    assert ("an unknown share" in kept.source) == (share is None)
    here = results([row("Gymnasium", 1, 100)], "cpu")
    verdicts = verdicts_of(CLAIMS, here, [kept], study.measured_metrics)
    assert verdict_of(verdicts, "xla_to_gym", "NVIDIA H200").verdict == verdict


def test_machines_are_judged_apart() -> None:
    here = results([row("Gymnasium", 1, 100), row("XLA", 1, 300, 1000)], "cpu", "paper")
    verdicts = verdicts_of(CLAIMS, here, [results(everything())], study.measured_metrics)
    own = verdict_of(verdicts, "xla_to_gym", THIS_MACHINE)
    assert (own.verdict, own.claim.hardware, own.claim.above, own.provisional) == (DIFFERS, "cpu", 10, False)
    assert own.measured is not None
    assert own.measured.value == 3
    other = verdict_of(verdicts, "xla_to_gym", "NVIDIA H200")
    assert (other.verdict, other.claim.hardware, other.claim.above, other.provisional) == (HOLDS, "gpu", 100, True)
    assert other.remark == "measured on NVIDIA H200, 2026-11-22, by `scripts/gpu_suite.sh OUTPUT a_study`"
    differing = verdict_of(verdicts, "xla_to_pytorch", "NVIDIA H200")
    assert differing.remark.startswith(f"{differing.claim.may_differ}; measured on NVIDIA H200")
    gpu = [verdict for verdict in verdicts if verdict.claim.hardware == "gpu"]
    assert {verdict.subject for verdict in gpu} == {"NVIDIA H200"}


def test_without_a_gpu_and_without_kept_results_its_claims_are_not_testable() -> None:
    verdicts = verdicts_of(CLAIMS, results([row("Gymnasium", 1, 100)], "cpu"), [], study.measured_metrics)
    gpu = [verdict for verdict in verdicts if verdict.claim.hardware == "gpu"]
    assert len(gpu) == sum(claim.hardware == "gpu" for claim in CLAIMS)
    assert {(verdict.verdict, verdict.remark) for verdict in gpu} == {
        (NOT_TESTABLE, "needs GPU runs, these used the CPU")
    }


def test_a_machine_that_recorded_nothing_can_be_kept(tmp_path: Path) -> None:
    found = replace(results(collected()), layers=NO_LAYERS, crossings=NO_CROSSINGS, robot_limits=NO_ROBOT_LIMITS)
    found.save(tmp_path / "h200")
    again = load(tmp_path / "h200")
    assert again.layers.empty and again.crossings.empty
    assert figures.xla_breakdown(again) is None
    assert metrics_of(again.measured, again.layers, again.crossings) == metrics_of(
        found.measured, NO_LAYERS, NO_CROSSINGS
    )


def test_results_of_another_recorder_say_so_on_the_page_and_beside_each_verdict() -> None:
    now = results(everything())
    assert "recorder" not in now.source + now.remark
    before = dataclasses.replace(now, recorders=[])
    assert before.source.count(" The results are of a recorder before hashes were kept.") == 1
    assert before.remark == f"{now.remark}, of a recorder before hashes were kept"
    other = dataclasses.replace(now, recorders=[built_from() | {"recorder_sha256": "0123456789abcdef"}])
    assert "The results are of another recorder (0123456789ab) than today's (" in other.source


def provenance_of(*hardware: dict[str, Any]) -> Provenance:
    return Provenance("command", "2026-11-22", "quick", {}, hardware, {"/bin/python": {"torch": "2"}}, [built_from()])


def test_the_name_of_a_machine_on_the_network_is_not_kept() -> None:
    found = origin_of("cpu", provenance_of({"cpu": "x", "cores": 2, "nodes": ["secret"]}))
    assert found["machine"] == {"cpu": "x", "cores": 2}
    assert found["versions"] == {"torch": "2"}


def test_machines_of_two_kinds_are_not_mixed() -> None:
    kinds = ({"cpu": "x", "nodes": []}, {"cpu": "y", "nodes": []})
    with pytest.raises(UsageError, match="expected runs of one kind of machine, found 2"):
        origin_of("cpu", provenance_of(*kinds))


@pytest.mark.parametrize(("device", "absent"), [("cpu", {"CUDA", "CUDA graph", "Copy"}), ("cuda", set())])
@pytest.mark.parametrize("budget", ["smoke", "quick", "paper"])
def test_runs_are_those_for_the_hardware(
    budget: str, device: str, absent: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, device)
    runs = CaseStudy(study.HERE, budget, tmp_path).runs()
    assert len({run.run.name for run in runs}) == len(runs) > 0
    assert {"CUDA", "CUDA graph", "Copy"} - {run.workload.name for run in runs} == absent
    for run in runs:
        arguments = run.run.arguments
        assert arguments[arguments.index("--device") + 1] == device
        assert not {"--env", "--seed", "--total-timesteps", "--stop-after"} & set(arguments)
        assert (run.workload.group == study.RECORDED) == ("record" in command_of(run.run))
    recorded = [run for run in runs if run.workload.group == study.RECORDED]
    steps = [run.run.arguments[run.run.arguments.index("--steps-per-call") + 1] for run in recorded]
    assert sorted(set(steps), key=int) == ["1", "10", "100", "1000"]


def test_a_script_gets_no_more_threads_than_there_are_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "cpu")
    monkeypatch.setattr(case_study.os, "sched_getaffinity", lambda process: {5})
    assert {run.run.threads for run in CaseStudy(study.HERE, "quick", tmp_path).runs()} == {1}


def leave(planned: StudyRun, rows: list[Row]) -> Execution:
    """What executing a run leaves that measures."""
    (planned.directory / "rows").mkdir(parents=True)
    (planned.directory / "rows" / "rows.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    return leave_run(planned, versions={"torch": "2.11", "brax": "not installed"})


def leave_recorded(planned: StudyRun) -> Execution:
    """What executing a run leaves that records: one collection, all of it in the backend."""
    execution = leave_run(planned)
    process = (writer := TraceWriter(execution.trace)).process(pid=1)
    thread = process.thread()
    thread.progress(0, 0, is_baseline=True)
    thread.begin_operation(1000, OPERATION)
    thread.boundary(1000, 9000, Category.BACKEND, "call")
    thread.end(9000)
    thread.progress(9000, 1)
    process.stop(10_000)
    writer.write_complete()
    return execution


def test_measured_rows_are_found_where_runs_leave_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "cpu")
    smoke = CaseStudy(study.HERE, "smoke", tmp_path)
    (planned, *_) = smoke.runs()
    found = study.measured_here(smoke, [(planned, leave(planned, [row("Gymnasium", 1, 7)]))])
    assert found.measured.line(Series(COLLECT, "Gymnasium")) == {1: [7, 7, 7]}
    assert (found.hardware, found.budget, found.versions) == ("cpu", "smoke", {"torch": "2.11"})


def test_the_study_draws_and_judges_this_machine_and_those_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, "cpu")
    monkeypatch.setattr(other_machines, "MEASURED", str(tmp_path / "kept"))
    results(everything()).save(tmp_path / "kept" / "h200")

    def recorder(runs: Sequence[StudyRun]) -> Recorded:
        recorded = Recorded()
        for planned in runs:
            if planned.workload.name == "K = 1":
                recorded.executed[planned.directory] = leave_recorded(planned)
            elif planned.workload.group == study.RECORDED:
                recorded.failures[planned.study_workload] = f"run {planned.run.name} exited with status 1"
            else:
                rows = [each for each in collected() if each["implementation"] == planned.workload.name]
                recorded.executed[planned.directory] = leave(planned, rows)
        return recorded

    outcome = study.run(CaseStudy(study.HERE, "smoke", tmp_path / "output", recorder=recorder))
    drawn = {path.stem for path in (tmp_path / "output").glob("fig*.png")}
    assert drawn == {
        "figure_4_data_collection",
        "figure_5_xla_breakdown",
        "figure_6_xla_transitions",
        *(f"{name}_h200" for name, *_ in study.FIGURES),
    }
    assert all((tmp_path / "output" / f"{name}.csv").stat().st_size > 50 for name in drawn)
    assert len(outcome.missing) == 3
    page = (tmp_path / "output" / "index.html").read_text()
    assert "figure_8_kernel_fusion is not drawn: nothing was measured for it on this machine" in page
    assert "Measured on NVIDIA H200" in page and "Measured on a processor" in page
    assert (
        len(re.findall("<td>K = 1</td><td><a [^>]*>page of the run</a></td><td>[^<]*, Backend [^<]*</td>", page)) == 1
    )
    assert {verdict.subject for verdict in outcome.verdicts} == {THIS_MACHINE, "NVIDIA H200"}
    again = load(tmp_path / "output" / other_machines.MEASUREMENTS)
    assert again.no_core_share == 0
    assert set(again.measured.lines) == {
        series for series in throughputs_of(collected()).lines if series.implementation != "CUDA"
    }


def test_both_kinds_of_hardware_have_all_groups_of_the_figures() -> None:
    matrix = load_matrix(study.HERE / "runs.toml")
    places = {(entry.hardware, name) for entry in matrix.entries for name in entry.groups}
    assert {place for hardware, place in places if hardware == "gpu"} == {group.name for group in matrix.groups}
    assert {place for hardware, place in places if hardware == "cpu"} == {"collect", "simulate", "simulators", "layers"}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("budget", ["smoke", "quick", "paper"])
def test_the_measuring_command_understands_all_runs(
    budget: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, device)
    runs = [run.run for run in CaseStudy(study.HERE, budget, tmp_path).runs() if run.run.script.name == "collect.py"]
    assert runs
    for planned in runs:
        monkeypatch.setattr("sys.argv", ["collect.py", *planned.arguments])
        assert list(collect.cells(collect.parse(collect.make_parser())))
