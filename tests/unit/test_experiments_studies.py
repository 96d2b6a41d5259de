"""The case studies' matrices, results and metrics."""

import importlib.util
from pathlib import Path

import pandas
import pytest

from experiments import CHECKOUT
from experiments.algorithm_choice import run as algorithm_choice
from experiments.case_study import BUDGETS, CaseStudy, Workload
from experiments.claims import load_claims
from experiments.results import Result, mean_table
from rlscope.errors import IncompleteTraceError
from rlscope.plots.tables import breakdown_table

FOLDERS = sorted(path.parent for path in (CHECKOUT / "experiments").glob("*/run.py"))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_budget_makes_runs_with_names_of_their_own(folder: Path, budget: str, tmp_path: Path) -> None:
    study = CaseStudy(folder, budget, tmp_path)
    runs = study.runs()
    assert len({study_run.run.name for study_run in runs}) == len(runs) > 0
    assert {study_run.repetition for study_run in runs} == set(range(study.matrix["budget"][budget]["repetitions"]))
    assert all(study_run.run.script.is_file() for study_run in runs)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_study_has_claims_that_it_can_judge(folder: Path) -> None:
    claims = load_claims(folder / "claims.toml")
    assert {claim.hardware for claim in claims} <= {"cpu", "gpu"}


def test_a_script_ends_with_the_last_recorded_iteration(tmp_path: Path) -> None:
    runs = CaseStudy(CHECKOUT / "experiments" / "algorithm_choice", "paper", tmp_path).runs()
    run = next(run.run for run in runs if run.run.name == "Walker2d-v5/PPO/repetition_1")
    assert (run.delay_iterations, run.max_iterations) == (3, 10)
    assert run.arguments[run.arguments.index("--stop-after") + 1] == str(13 * 4 * 1024)
    assert run.arguments[run.arguments.index("--seed") + 1] == "1"
    assert run.arguments[run.arguments.index("--env") + 1] == "Walker2d-v5"


@pytest.mark.parametrize("budget", BUDGETS)
def test_sac_is_recorded_after_it_has_begun_to_learn(tmp_path: Path, budget: str) -> None:
    runs = CaseStudy(CHECKOUT / "experiments" / "algorithm_choice", budget, tmp_path).runs()
    assert all(run.run.delay_iterations > 1000 for run in runs if run.workload.name == "SAC")


def result(name: str, group: str, python_s: float, simulator_s: float, training_s: float = 100.0) -> Result:
    rows = pandas.DataFrame(
        [
            ("simulation", "python", "cpu", python_s),
            ("simulation", "simulator", "cpu", simulator_s),
            ("backpropagation", "backend", "cpu", 100 - python_s - simulator_s),
        ],
        columns=["stage", "category", "resource", "seconds"],
    )
    table = breakdown_table(name, rows[rows["seconds"] > 0], training_s)
    return Result(Workload(name, name, "walker", group), table, left_out_s=0, cuda_s=0, gpu_s=0)


def gpu_result(name: str, cuda_s: float, gpu_s: float) -> Result:
    rows = pandas.DataFrame(
        [
            ("simulation", "simulator", "cpu", 50.0),
            ("inference", "cuda", "cpu", 10.0),
            ("inference", "cuda", "cpu+gpu", 0.5 * gpu_s),
            ("backpropagation", "backend", "cpu", 40 - gpu_s),
            ("backpropagation", "gpu", "gpu", 0.5 * gpu_s),
        ],
        columns=["stage", "category", "resource", "seconds"],
    )
    return Result(Workload(name, name, "walker", "on-policy"), breakdown_table(name, rows, 100), 0, cuda_s, gpu_s)


def test_metrics_that_need_a_gpu() -> None:
    measured = algorithm_choice.gpu_measurements([gpu_result("A2C", 20, 2), gpu_result("PPO", 30, 10)])
    assert measured["largest_gpu_share_of_an_operation"].value == pytest.approx(100 * 5 / 15)
    assert measured["smallest_cpu_only_share"].value == pytest.approx(100 * 90 / 100)
    assert measured["smallest_cuda_to_gpu"].value == pytest.approx(3)
    needed = {claim.metric for claim in load_claims(algorithm_choice.HERE / "claims.toml") if claim.hardware == "gpu"}
    assert needed == set(measured)


def test_an_environment_whose_package_is_missing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = CaseStudy(CHECKOUT / "experiments" / "algorithm_choice", "smoke", tmp_path)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "pybullet" in name else find(name))
    assert [entry["id"] for entry in study.environments] == ["Walker2d-v5"]
    assert study.left_out == ["Walker2DBulletEnv-v0 is left out: the package pybullet_envs_gymnasium is not installed."]


def test_metrics_of_the_algorithm_choice_study() -> None:
    measured = algorithm_choice.measurements(
        [
            result("DDPG", "off-policy", 5, 5),
            result("SAC", "off-policy", 10, 10),
            result("A2C", "on-policy", 20, 40),
            result("PPO", "on-policy", 25, 25),
        ]
    )
    assert measured["on_to_off_policy_simulation"].value == pytest.approx(2.5)
    assert measured["on_minus_off_policy_simulation"].value == pytest.approx(30)
    assert measured["python_to_simulator"].value == pytest.approx(0.5)
    needed = {claim.metric for claim in load_claims(algorithm_choice.HERE / "claims.toml") if claim.hardware == "cpu"}
    assert needed == set(measured)


def test_simulation_without_a_simulator_is_an_error() -> None:
    with pytest.raises(IncompleteTraceError, match="PPO in walker: expected time in the simulator"):
        algorithm_choice.measurements([result("PPO", "on-policy", 10, 0), result("SAC", "off-policy", 10, 1)])


def test_the_mean_over_repetitions_has_intervals() -> None:
    table = mean_table([result("PPO", "on-policy", 10, 30, 100), result("PPO", "on-policy", 30, 10, 300)])
    python = table[(table["stage"] == "simulation") & (table["category"] == "python")].iloc[0]
    assert (python["percent"], python["percent_low"], python["percent_high"]) == (20, 10, 30)
    assert python["seconds"] == (0.1 * 100 + 0.3 * 300) / 2
    assert (python["training_s"], python["training_low_s"], python["training_high_s"]) == (200, 100, 300)
    assert set(table["repetitions"]) == {2}
    assert set(table["corrected"]) == {"no"}


def test_a_piece_that_a_repetition_lacks_counts_as_nothing_there() -> None:
    table = mean_table([result("PPO", "on-policy", 0, 40), result("PPO", "on-policy", 20, 20)])
    python = table[(table["stage"] == "simulation") & (table["category"] == "python")].iloc[0]
    assert python["percent"] == 10
    assert table["percent"].sum() == pytest.approx(100)


def test_workloads_keep_the_order_of_the_study() -> None:
    table = mean_table([result(name, "on-policy", 10, 10) for name in ("SAC", "A2C", "SAC")])
    assert list(dict.fromkeys(table["workload"])) == ["SAC", "A2C"]
