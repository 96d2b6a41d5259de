"""The case studies' matrices, results and metrics."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.trace_writer import TraceWriter
from experiments import CHECKOUT
from experiments.algorithm_choice import run as algorithm_choice
from experiments.harness import interpreters, progress
from experiments.harness.case_study import WORKLOADS, CaseStudy
from experiments.harness.execute import Execution, Run, RunFailedError
from experiments.harness.matrix import BUDGETS, load_matrix
from experiments.harness.progress import Workload
from experiments.RL_framework_comparison import metrics as framework_metrics
from experiments.RL_framework_comparison import run as framework_comparison
from experiments.simulator_choice import run as simulator_choice
from experiments.verdicts.claims import load_claims
from experiments.verdicts.intervals import caption_of, readable
from experiments.verdicts.results import Result, left_out_text, mean_table, mean_transitions
from experiments.verdicts.run_pages import add_runs
from experiments.verdicts.study_page import StudyPage
from rlscope.analysis.correction.corrected import AppliedCorrection, Corrected
from rlscope.errors import IncompleteTraceError
from rlscope.model import Category
from rlscope.plots.tables import breakdown_table

APPLIED = AppliedCorrection("a test", "main", 1.5, 1.0, 2.0, (), {})
NONE = pd.DataFrame(columns=["workload", "stage", "category", "count", "per_iteration", "per_timestep"])
FOLDERS = sorted(path.parent for path in (CHECKOUT / "experiments").glob("*/run.py"))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_budget_makes_runs_with_names_of_their_own(folder: Path, budget: str, tmp_path: Path) -> None:
    study = CaseStudy(folder, budget, tmp_path)
    if not study.workloads:
        pytest.skip(f"{folder.name} has no workload for this hardware")
    runs = study.runs()
    if not runs and study.left_out:
        pytest.skip(study.left_out[0])
    assert len({study_run.run.name for study_run in runs}) == len(runs) > 0
    assert {study_run.repetition for study_run in runs} == set(range(study.matrix.budget(budget).repetitions))
    assert all(study_run.run.script.is_file() for study_run in runs)


@pytest.mark.parametrize(("budget", "cores"), [("smoke", 1), ("quick", 2)])
def test_a_run_that_measures_has_a_core_for_what_records_beside_it(budget: str, cores: int, tmp_path: Path) -> None:
    runs = CaseStudy(CHECKOUT / "experiments" / "algorithm_choice", budget, tmp_path).runs()
    assert {run.cores for run in runs} == {cores}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_study_has_claims_that_it_can_judge(folder: Path) -> None:
    claims = load_claims(folder / "claims.toml")
    assert {claim.hardware for claim in claims} <= {"cpu", "gpu"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_range_is_one_claim(folder: Path) -> None:
    sides: dict[tuple[str, ...], set[bool]] = {}
    for claim in load_claims(folder / "claims.toml"):
        if claim.above is None or claim.below is None:
            about = (claim.id, claim.metric, claim.hardware, claim.subject)
            sides.setdefault(about, set()).add(claim.above is None)
    assert [about for about, found in sides.items() if len(found) > 1] == []


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


def result(
    name: str,
    kind: str,
    python_s: float,
    simulator_s: float,
    training_s: float = 100.0,
    transitions: pd.DataFrame = NONE,
    group: str = "walker",
) -> Result:
    rows = pd.DataFrame(
        [
            ("simulation", "python", "cpu", python_s),
            ("simulation", "simulator", "cpu", simulator_s),
            ("backpropagation", "backend", "cpu", 100 - python_s - simulator_s),
        ],
        columns=["stage", "category", "resource", "seconds"],
    )
    table = breakdown_table(name, rows[rows["seconds"] > 0], training_s)
    return made(Workload(name, name, group, kind), table, transitions=transitions)


def made(
    workload: Workload,
    table: pd.DataFrame,
    cuda_s: tuple[float, float, float] = (0, 0, 0),
    gpu_s: float = 0,
    transitions: pd.DataFrame = NONE,
) -> Result:
    return Result(workload, table, 0, Corrected(*cuda_s), gpu_s, 100, transitions, APPLIED, "")


def gpu_result(name: str, cuda_s: float, gpu_s: float, off_s: float = 0) -> Result:
    rows = pd.DataFrame(
        [
            ("simulation", "simulator", "cpu", 50.0),
            ("inference", "cuda", "cpu", 10.0),
            ("inference", "cuda", "cpu+gpu", 0.5 * gpu_s),
            ("backpropagation", "backend", "cpu", 40 - gpu_s),
            ("backpropagation", "gpu", "gpu", 0.5 * gpu_s),
        ],
        columns=["stage", "category", "resource", "seconds"],
    )
    workload = Workload(name, name, "walker", "on-policy")
    return made(workload, breakdown_table(name, rows, 100), (cuda_s, cuda_s - off_s, cuda_s + off_s), gpu_s)


def trace_in(category: Category, directory: Path) -> Path:
    """Of a process that was all its time in this."""
    process = (writer := TraceWriter(directory)).process(pid=1)
    thread = process.thread()
    thread.begin_operation(0, "simulation")
    thread.boundary(0, 10_000, category, "call")
    thread.end(10_000)
    process.stop(10_000)
    return writer.write_complete()


def test_a_page_says_where_the_time_of_recorded_runs_went(tmp_path: Path) -> None:
    walker, hopper = (Workload("PPO", "PPO", group, "on-policy") for group in ("Walker2D", "Hopper"))
    traces = [
        (workload, trace_in(category, tmp_path / name))
        for name, workload, category in (
            ("first", walker, Category.SIMULATOR),
            ("second", walker, Category.WAIT),
            ("other", hopper, Category.BACKEND),
        )
    ]
    page = StudyPage("a study", tmp_path)
    add_runs(page, traces)
    page.write(tmp_path / "index.html")
    text = (tmp_path / "index.html").read_text()
    for group, cause, trace in (
        ("Walker2D", "simulation, Simulator", "first"),
        ("Hopper", "simulation, Backend", "other"),
    ):
        link = f'<a href="pages/{group}/PPO.html">page of the run</a>'
        assert f"<td>{group}</td><td>PPO</td><td>{link}</td><td>10 µs of main: {cause} 10 µs (100 %)</td>" in text
        of_run = (tmp_path / "pages" / group / "PPO.html").read_text()
        assert f"<title>RL-Scope: {trace}</title>" in of_run and f"<td>{cause}</td>" in of_run
    assert "waiting" not in text


def test_a_page_says_nothing_where_nothing_was_recorded(tmp_path: Path) -> None:
    add_runs(page := StudyPage("a study", tmp_path), [])
    page.write(tmp_path / "index.html")
    assert "Where the time of each run went" not in (tmp_path / "index.html").read_text()


def test_metrics_that_need_a_gpu() -> None:
    measured = algorithm_choice.gpu_measurements([gpu_result("A2C", 20, 2), gpu_result("PPO", 30, 10)])
    assert measured["largest_gpu_share_of_an_operation"].value == pytest.approx(100 * 5 / 15)
    assert measured["smallest_cpu_only_share"].value == pytest.approx(100 * 90 / 100)
    assert measured["smallest_cuda_to_gpu"].value == pytest.approx(3)
    assert measured["mean_cuda_to_gpu"].value == pytest.approx(30**0.5)
    needed = {claim.metric for claim in load_claims(algorithm_choice.HERE / "claims.toml") if claim.hardware == "gpu"}
    assert needed == {*measured, "fewest_layers"}  # which needs no GPU to be counted


@pytest.mark.parametrize(("seconds", "said"), [((4.0, 2.0), [": 3 s of"]), ((-3e-17, 9e-17), []), ((), [])])
def test_what_is_left_out_is_said_where_there_is_any(seconds: tuple[float, ...], said: list[str]) -> None:
    results = [replace(gpu_result("PPO", 0.0, 0.0), left_out_s=each) for each in seconds]
    found = left_out_text(results, "training")
    assert len(found) == len(said) and all(length in text for length, text in zip(said, found, strict=True))


def test_a_group_whose_package_is_missing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = CaseStudy(CHECKOUT / "experiments" / "algorithm_choice", "smoke", tmp_path)
    has = interpreters.has_package
    monkeypatch.setattr(
        interpreters, "has_package", lambda python, package: "pybullet" not in package and has(python, package)
    )
    assert [group.id for group in study.groups] == ["Walker2d-v5"]
    assert study.left_out == ["Walker2DBulletEnv-v0 is left out: the package pybullet_envs_gymnasium is not installed."]


@pytest.mark.parametrize("packages", [["trl"], ["trl", "rlscope"]])
def test_an_environment_without_rlscope_is_not_used(
    packages: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "stack" / "bin" / "python"
    site = tmp_path / "stack" / "lib" / "python3.11" / "site-packages"
    for path in (python, *(site / package / "__init__.py" for package in packages)):
        path.parent.mkdir(parents=True)
        path.touch()
    monkeypatch.setattr(interpreters, "VENVS", tmp_path)
    assert (interpreters.python_of("stack", "trl") == python) == ("rlscope" in packages)


def framework_study(output: Path, budget: str = "quick") -> CaseStudy:
    return CaseStudy(CHECKOUT / "experiments" / "RL_framework_comparison", budget, output)


def test_a_framework_that_is_missing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "has_package", lambda python, package: package != "tf_agents")
    study = framework_study(tmp_path)
    assert {run.workload.name.split("_")[0] for run in study.runs()} == {"pytorch", "jax", "host", "callbacks"}
    assert len(study.left_out) == 3
    assert study.left_out[0] == (
        "TensorFlow Autograph is left out: tf_agents or rlscope is not in .venvs/tensorflow, which "
        "`scripts/install_experiments` makes."
    )


@pytest.mark.parametrize(
    ("is_there", "walker", "left_out"),
    [
        (True, "Walker2DBulletEnv-v0", []),
        (
            False,
            "Walker2d-v5",
            ["Walker2DBulletEnv-v0 is left out: the package pybullet_envs_gymnasium is not installed."],
        ),
    ],
)
def test_mujoco_takes_the_place_of_pybullet(
    is_there: bool, walker: str, left_out: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "has_package", lambda python, package: is_there or "pybullet" not in package)
    study = framework_study(tmp_path)
    assert [(group.name, group.id) for group in study.groups] == [("TD3", walker), ("DDPG", walker)]
    assert study.left_out == left_out


def test_a_workload_may_be_of_one_group_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "has_package", lambda python, package: True)
    places = {(run.workload.name, run.workload.group) for run in framework_study(tmp_path).runs()}
    assert {place for place in places if place[0] in ("host_adam", "callbacks_100")} == {
        ("host_adam", "DDPG"),
        ("callbacks_100", "TD3"),
    }


def test_a_workload_goes_on_after_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "has_package", lambda python, package: True)
    runs = {run.run.name: run.run for run in framework_study(tmp_path, "paper").runs()}
    arguments = runs["TD3/jax_jit/repetition_0"].arguments
    assert arguments[arguments.index("--stop-after") + 1] == str((11 + 5 + 2) * 1000)
    quick = {run.run.name: run.run for run in framework_study(tmp_path).runs()}["TD3/jax_jit/repetition_0"].arguments
    assert quick[quick.index("--stop-after") + 1] == str(3 * int(quick[quick.index("--steps") + 1]))


def test_a_run_that_fails_is_told_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = CaseStudy(CHECKOUT / "experiments" / "algorithm_choice", "quick", tmp_path)
    tried = []

    def execute(run: Run, directory: Path) -> Execution:
        tried.append(run.name)
        if "/SAC/" in run.name:
            raise RunFailedError(f"run {run.name} exited with status 1")
        return Execution(run, directory / "trace", 1.0, was_complete=False)

    monkeypatch.setattr(progress, "execute", execute)
    runs = study.runs()
    executed, failures = study.record(runs)
    groups_tried = {run.workload.group for run in runs}
    assert len(failures) == len(groups_tried)
    assert all("/SAC/repetition_0 exited with status 1" in failure for failure in failures)
    assert len(tried) == len(executed) + len(failures)
    assert len(executed) == len(runs) - sum("/SAC/" in run.run.name for run in runs)


def test_the_iterations_after_the_recorded_ones_are_found_in_the_log(tmp_path: Path) -> None:
    (run,) = (run.run for run in framework_study(tmp_path, "smoke").runs()[:1])
    execution = Execution(run, tmp_path / "trace", 1.0, was_complete=False)
    assert (run.delay_iterations, run.max_iterations) == (1, 1)
    (tmp_path / "log.txt").write_text("seconds of the iterations: 9.0 5.0 2.0 4.0\nreturn of the last: 3\n")
    assert execution.unrecorded_iteration_s == 3.0
    (tmp_path / "log.txt").write_text("seconds of the iterations: 9.0 5.0\n")
    assert execution.unrecorded_iteration_s is None
    (tmp_path / "log.txt").write_text("nothing of that kind\n")
    assert execution.unrecorded_iteration_s is None


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
    assert measured["smallest_python_and_backend_share"].value == pytest.approx(100)
    assert measured["fewest_layers"].value == 3
    needed = {claim.metric for claim in load_claims(algorithm_choice.HERE / "claims.toml") if claim.hardware == "cpu"}
    assert needed == set(measured)


def test_simulation_without_a_simulator_is_an_error() -> None:
    with pytest.raises(IncompleteTraceError, match="PPO in walker: expected time in the simulator"):
        algorithm_choice.measurements([result("PPO", "on-policy", 10, 0), result("SAC", "off-policy", 10, 1)])


def test_the_mean_over_repetitions_has_intervals() -> None:
    runs = [
        result("PPO", "on-policy", share, 40 - share, length) for share, length in ((10, 100), (20, 200), (30, 300))
    ]
    table = mean_table(runs)
    python = table[(table["stage"] == "simulation") & (table["category"] == "python")].iloc[0]
    assert python[["percent", "seconds", "training_s"]].to_list() == pytest.approx([20, (10 + 40 + 90) / 3, 200])
    for name in ("percent", "seconds"):
        assert python[f"{name}_low"] < python[name] < python[f"{name}_high"]
    assert python["training_low_s"] < 200 < python["training_high_s"]
    assert set(table["repetitions"]) == {3}
    assert set(table["corrected"]) == {"no"}


def test_the_mean_over_two_repetitions_has_no_interval() -> None:
    table = mean_table([result("PPO", "on-policy", 10, 30, 100), result("PPO", "on-policy", 30, 10, 300)])
    ends = [column for column in table if "_low" in column or "_high" in column]
    assert len(ends) == 6
    assert table[ends].isna().all(axis=None)
    assert (readable(table)[ends] == "no interval (n=2)").all(axis=None)
    assert list(readable(table)["percent"]) == list(table["percent"])
    assert caption_of("Shares.", table) == "Shares. No interval for 3 of 3 numbers: n is less than 3."


def test_what_has_intervals_is_shown_as_it_is() -> None:
    table = mean_table([result("PPO", "on-policy", 10, share) for share in (10, 20, 30)])
    assert readable(table).equals(table.astype(readable(table).dtypes))
    assert caption_of("Shares.", table) == "Shares."


def test_a_piece_that_a_repetition_lacks_counts_as_nothing_there() -> None:
    table = mean_table([result("PPO", "on-policy", 0, 40), result("PPO", "on-policy", 20, 20)])
    python = table[(table["stage"] == "simulation") & (table["category"] == "python")].iloc[0]
    assert python["percent"] == 10
    assert table["percent"].sum() == pytest.approx(100)


def test_the_mean_of_transitions_has_intervals() -> None:
    def entries(*rows: tuple[str, float]) -> pd.DataFrame:
        return pd.DataFrame(
            [("PPO", "inference", category, count, count, count / 2) for category, count in rows], columns=NONE.columns
        )

    first = result("PPO", "on-policy", 10, 10, transitions=entries(("backend", 10)))
    second = result("PPO", "on-policy", 10, 10, transitions=entries(("backend", 30), ("simulator", 4)))
    third = result("PPO", "on-policy", 10, 10, transitions=entries(("backend", 20), ("simulator", 2)))
    table = mean_transitions([first, second, third])
    backend, simulator = (table[table["category"] == category].iloc[0] for category in ("backend", "simulator"))
    assert (backend["count"], backend["per_timestep"], simulator["per_iteration"]) == (20, 10, 2)
    for name in ("count", "per_timestep"):
        assert backend[f"{name}_low"] < backend[name] < backend[f"{name}_high"]
    assert set(table["repetitions"]) == {3}
    (alone,) = mean_transitions([first]).to_dict("records")
    assert (alone["count"], alone["repetitions"]) == (10, 1)
    assert pd.isna(alone["count_low"]) and pd.isna(alone["count_high"])


def test_workloads_keep_the_order_of_the_study() -> None:
    table = mean_table([result(name, "on-policy", 10, 10) for name in ("SAC", "A2C", "SAC")])
    assert list(dict.fromkeys(table["workload"])) == ["SAC", "A2C"]


def framework_result(name: str, training_s: float, python: float, calls: float, kind: str = "eager") -> Result:
    """A third of the time in each stage; `python` is the share of Python in each."""
    rows = pd.DataFrame(
        [
            (stage, category, "cpu", share)
            for stage in ("inference", "backpropagation", "simulation")
            for category, share in (("python", python), ("backend", 1 - python))
        ],
        columns=["stage", "category", "resource", "seconds"],
    )
    transitions = pd.DataFrame(
        [(name, stage, "backend", calls, calls, calls) for stage in ("inference", "backpropagation")],
        columns=NONE.columns,
    )
    table = breakdown_table(name, rows, training_s)
    return made(Workload(name, name, "TD3", kind), table, transitions=transitions)


def test_metrics_of_the_framework_comparison() -> None:
    measured = framework_metrics.measurements(
        [
            framework_result("pytorch_eager", 200, 0.5, 40),
            framework_result("pytorch_compiled", 100, 0.2, 4),
            framework_result("tensorflow_eager", 600, 0.5, 80),
            framework_result("tensorflow_graph", 120, 0.4, 8),
            framework_result("tensorflow_autograph", 150, 0.1, 10),
            framework_result("host_adam", 500, 0.5, 120, kind="extra"),
        ]
    )
    values = {metric: estimate.value for metric, estimate in measured.items()}
    assert values["eager_to_compiled"] == pytest.approx(2)
    assert values["calls_to_time_correlation"] == pytest.approx(1)
    assert values["tensorflow_to_pytorch_eager"] == pytest.approx(2)
    assert values["python_share_graph_to_autograph"] == pytest.approx(4)
    assert values["host_adam_time"] == pytest.approx(2.5)
    assert values["host_adam_calls"] == pytest.approx(3)
    assert values["graph_to_autograph"] == values["graph_to_autograph_backpropagation"] == pytest.approx(0.8)
    assert values["pytorch_eager_to_tensorflow_compiled"] == pytest.approx(200 / 120)
    assert values["inference_backend_autograph_to_graph"] == pytest.approx(150 * 0.9 / (120 * 0.6))
    assert "callbacks_100_minus_1000" not in values  # their workloads have not run


def test_metrics_of_frameworks_on_a_gpu() -> None:
    results = [gpu_result("pytorch_eager", 20, 5), gpu_result("jax_jit", 45, 5), gpu_result("jax_loop", 10, 10)]
    kinds = {"pytorch_eager": "eager", "jax_jit": "compiled", "jax_loop": "compiled"}
    results = [
        replace(
            found,
            workload=replace(found.workload, kind=kinds[found.workload.name]),
            table=found.table.assign(training_s=100.0 * (number + 1)),
        )
        for number, found in enumerate(results)
    ]
    measured = {name: found.value for name, found in framework_metrics.gpu_measurements(results).items()}
    assert measured == pytest.approx(
        {
            "largest_gpu_share": 10,
            "training_time_spread": 3,
            "gpu_time_spread": 2,
            "smallest_cuda_to_gpu": 4,
            "mean_cuda_to_gpu": (4 * 9 * 1) ** (1 / 3),
        }
    )
    claims = load_claims(framework_comparison.HERE / "claims.toml")
    assert {claim.metric for claim in claims if claim.hardware == "gpu"} == set(measured)


def test_a_gpu_without_eager_frameworks_says_nothing_of_them() -> None:
    compiled = gpu_result("jax_jit", 45, 5)
    found = framework_metrics.gpu_measurements(
        [replace(compiled, workload=replace(compiled.workload, kind="compiled"))]
    )
    assert "mean_cuda_to_gpu" in found and "smallest_cuda_to_gpu" not in found
    assert framework_metrics.gpu_measurements([]) == {}


def without_updates(result: Result) -> Result:
    """The same of a program that only collects, as within the published warm-up."""
    return replace(result, table=result.table[result.table["stage"] != "backpropagation"])


def test_every_claim_of_the_framework_comparison_is_measured() -> None:
    names = ["pytorch_eager", "pytorch_compiled", "tensorflow_eager", "tensorflow_graph", "tensorflow_autograph"]
    results = [framework_result(name, 100 + place, 0.5, 10 + place) for place, name in enumerate([*names, "jax_jit"])]
    results += [framework_result("host_adam", 100, 0.5, 10, "extra")]
    results += [without_updates(framework_result(f"callbacks_{steps}", 100, 0.5, 10, "extra")) for steps in (100, 1000)]
    measured = framework_metrics.measurements(results)
    claims = load_claims(framework_comparison.HERE / "claims.toml")
    assert {claim.metric for claim in claims if claim.hardware == "cpu"} == set(measured)


def simulator_study(output: Path, budget: str = "quick") -> CaseStudy:
    return CaseStudy(CHECKOUT / "experiments" / "simulator_choice", budget, output)


@pytest.fixture
def ppo_settings(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """From an environment's id to the hyper-parameters that the training script has for it."""
    monkeypatch.syspath_prepend(WORKLOADS)
    setting_of: Callable[[str], Any] = importlib.import_module("ppo").setting_of
    return setting_of


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_simulators_iterations_are_its_rollouts(
    budget: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ppo_settings: Callable[[str], Any]
) -> None:
    monkeypatch.setattr(interpreters, "has_package", lambda python, package: True)
    study = simulator_study(tmp_path, budget)
    runs = {run.workload.name: run.run for run in study.runs()}
    assert set(runs) == {entry.name for entry in study.matrix.entries if entry.kind != simulator_choice.DEVICE}
    for run in runs.values():
        given = dict(zip(run.arguments[::2], run.arguments[1::2], strict=True))
        setting = ppo_settings(given["--env"])
        timesteps = setting.environments * int(given.get("--rollout-steps", setting.steps))
        assert int(given["--stop-after"]) == (run.delay_iterations + run.max_iterations) * timesteps
        assert timesteps % min(setting.batch_size, timesteps) == 0  # minibatches are of one size
        assert budget != "paper" or "--rollout-steps" not in given


def test_a_simulator_has_an_id_and_a_length_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "has_package", lambda python, package: True)
    given = {
        run.workload.name: dict(zip(run.run.arguments[::2], run.run.arguments[1::2], strict=True))
        for run in simulator_study(tmp_path).runs()
    }
    lengths = {name: int(arguments["--total-timesteps"]) for name, arguments in given.items()}
    assert given["CameraDrone"]["--env"] == "camera_drone:CameraDrone-v0"
    assert lengths.pop("PongNoFrameskip-v4") == 10_000_000
    assert set(lengths.values()) == {2_000_000}


def test_hyper_parameters_follow_the_simulator(ppo_settings: Callable[[str], Any]) -> None:
    assert ppo_settings("AntBulletEnv-v0") is ppo_settings("Ant-v5")
    assert ppo_settings("camera_drone:CameraDrone-v0").policy == "MultiInputPolicy"
    assert ppo_settings("PongNoFrameskip-v4").policy == "CnnPolicy"
    assert ppo_settings("slow_drone:SlowDrone-v0") is ppo_settings("Walker2DBulletEnv-v0")


def test_rollouts_of_other_algorithms_have_no_length(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(WORKLOADS)
    train = importlib.import_module("stable_baselines3_train")
    monkeypatch.setattr("sys.argv", ["stable_baselines3_train.py", "--algo", "sac", "--rollout-steps", "64"])
    with pytest.raises(SystemExit, match="2"):
        train.main()
    assert "--rollout-steps: expected --algo ppo, found sac" in capsys.readouterr().err


def test_a_simulator_that_is_missing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "has_package", lambda python, package: package not in ("PyFlyt", "cv2"))
    assert simulator_study(tmp_path).left_out == [
        f"{simulator} is left out: {package} or rlscope is not in .venvs/pytorch, which "
        "`scripts/install_experiments` makes."
        for simulator, package in (("PyFlyt drone (stand-in)", "PyFlyt"), ("Pong", "cv2"))
    ]


SIMULATORS = load_matrix(simulator_choice.HERE / "runs.toml")


def simulator_result(name: str, python_s: float, simulator_s: float) -> Result:
    entry = next(entry for entry in SIMULATORS.entries if entry.name == name)
    return result(name, entry.kind, python_s, simulator_s, group=entry.groups[0])


def test_a_figure_may_show_a_simulator_of_another_one() -> None:
    names = ["PongNoFrameskip-v4", "AntBulletEnv-v0", "Walker2d-v5", "Ant-v5"]
    results = [simulator_result(name, 10, 10) for name in names]
    published, mujoco = (
        [found.workload.name for found in simulator_choice.shown_in(group, SIMULATORS, results)]
        for group in SIMULATORS.groups
        if group.name != simulator_choice.DEVICE
    )
    assert published == ["AntBulletEnv-v0", "PongNoFrameskip-v4"]
    assert mujoco == ["Ant-v5", "PongNoFrameskip-v4", "Walker2d-v5"]


def test_metrics_of_the_simulator_choice_study() -> None:
    results = [
        simulator_result("CameraDrone", 20, 40),
        simulator_result("SlowDrone", 1, 98),
        simulator_result("AntBulletEnv-v0", 30, 20),
        simulator_result("PongNoFrameskip-v4", 4, 8),
        simulator_result("Ant-v5", 9, 18),
    ]
    measured = simulator_choice.measurements(SIMULATORS, results)
    assert measured["figure"]["published"]["smallest_simulation_share"].value == pytest.approx(12)
    assert measured["figure"]["mujoco"] == {}  # two are no survey
    assert measured["wrapped"]["AntBulletEnv-v0"]["python_to_simulator"].value == pytest.approx(1.5)
    assert measured["wrapped"]["Hopper-v5"] == {}  # has not run
    slow = {metric: estimate.value for metric, estimate in measured["native"]["SlowDrone"].items()}
    assert slow["simulation_share"] == pytest.approx(99)
    assert slow["simulator_share_of_simulation"] == pytest.approx(100 * 98 / 99)
    assert measured["native"]["CameraDrone"]["python_to_native_simulator"].value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("cheetah", "hopper", "pong", "difference"),
    [(15, 20, 60, 15 - 20), (15, 10, 30, 15 - 10), (15, 10, 8, 8 - 10)],
    ids=["the single environment", "neither", "the cheapest simulator"],
)
def test_whose_share_of_simulation_is_smallest(cheetah: float, hopper: float, pong: float, difference: float) -> None:
    """Pong trains five times as long as the others, so what it costs a timestep is a fifth of its share."""
    percents = {
        "HalfCheetahBulletEnv-v0": cheetah,
        "HopperBulletEnv-v0": hopper,
        "AntBulletEnv-v0": 50,
        "PongNoFrameskip-v4": pong,
    }
    results = [simulator_result(name, percent / 2, percent / 2) for name, percent in percents.items()]
    found = simulator_choice.measurements(SIMULATORS, results)["figure"]["published"]
    assert found["smallest_is_single_or_cheapest"].value == pytest.approx(difference)


def test_metrics_of_simulators_on_a_gpu() -> None:
    rows = pd.DataFrame(
        [
            ("simulation", "python", "cpu", 20.0),
            ("simulation", "simulator", "cpu", 10.0),
            ("backpropagation", "python", "cpu", 12.0),
            ("backpropagation", "backend", "cpu", 16.0),
            ("backpropagation", "cuda", "cpu", 32.0),
            ("backpropagation", "cuda", "cpu+gpu", 7.0),
            ("backpropagation", "gpu", "gpu", 3.0),
        ],
        columns=["stage", "category", "resource", "seconds"],
    )
    names = ["Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"]
    results = [
        made(Workload(name, name, "mujoco", "wrapped"), breakdown_table(name, rows, 100), (39, 39, 39), 10)
        for name in names
    ]
    measured = simulator_choice.measurements(SIMULATORS, results)
    assert measured["figure"]["mujoco"]["largest_gpu_only_share"].value == pytest.approx(3)
    assert measured["figure"]["mujoco"]["largest_gpu_share"].value == pytest.approx(10)
    assert measured["wrapped"]["Ant-v5"]["cuda_to_other_categories"].value == pytest.approx(2)


def test_every_claim_about_simulators_is_measured() -> None:
    results = [simulator_result(entry.name, 20, 30) for entry in SIMULATORS.entries]
    measured = simulator_choice.measurements(SIMULATORS, results)
    for kind, subjects in measured.items():
        assert all(set(metrics) == set(simulator_choice.METRICS[kind]) for metrics in subjects.values())
    claims = load_claims(simulator_choice.HERE / "claims.toml")
    about_these = {claim.metric for claim in claims if claim.figure != simulator_choice.DEVICE}
    assert about_these == {name for names in simulator_choice.METRICS.values() for name in names}
