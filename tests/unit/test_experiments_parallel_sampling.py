"""What the study of parallel sampling makes of runs of its workload, and of the model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from executed_runs import leave_run

from benchmarks.trace_writer import TraceWriter
from experiments.harness import case_study
from experiments.harness.case_study import CaseStudy
from experiments.harness.execute import Execution, command_of
from experiments.harness.matrix import BUDGETS
from experiments.harness.progress import Recorded, StudyRun
from experiments.parallel_sampling import model
from experiments.parallel_sampling import run as study
from experiments.parallel_sampling.diagnostic import parts_ms, parts_table
from experiments.parallel_sampling.lock_step import PRESETS
from experiments.parallel_sampling.measurements import Sampled, options_of
from experiments.parallel_sampling.metrics import comparison_table, measured_hours, metrics_of
from experiments.parallel_sampling.model import BATCHED, LOCK_STEP, common_metrics, model_hours, preset_metrics
from experiments.verdicts.claims import HOLDS, NOT_TESTABLE, load_claims
from experiments.verdicts.corrected import NO_CAVEATS
from experiments.verdicts.statistics import exact
from rlscope.plots import figure_files

CLAIMS = load_claims(study.HERE / "claims.toml")
OPTIONS = {"step-ms": "15", "reset-ms": "500", "reset-probability": "0.0098", "seed": "0"}
INFERENCE_S = 0.001
#: Workloads of runs.toml: sampler, environments, and environments of a worker.
SAMPLERS = {
    "dummy": ("sb3_dummy", 4, 4),
    "subproc": ("sb3_subproc", 24, 24),
    "subproc_half": ("sb3_subproc", 12, 12),
    "async": ("gymnasium_async", 24, 24),
    "hybrid": ("free", 24, 4),
    "batched": ("free", 24, 1),
    "batched_half": ("free", 12, 1),
    "rllib": ("rllib", 4, 1),
    "rllib_cluster": ("rllib", 4, 2),
}
BREAKDOWN = ["process", "phase", "stage", "operation", "category", "seconds"]


def as_the_model_says(name: str, longer: float = 1.0, environment: str = "timed", steps: int = 60) -> Sampled:
    """A run of three iterations that took as long as the model says, or longer by a factor."""
    sampler, environments, each = SAMPLERS[name.replace("real_", "")]
    figures: dict[str, Any] = {
        "sampler": sampler,
        "environments": environments,
        "environments_per_worker": each,
        "steps": steps,
        "iterations": [{}, {}, {}],
        "inference_s": INFERENCE_S,
        "lost_workers": [],
    }
    empty = Sampled(name, name, environment, 0, OPTIONS, figures)
    drawn, found = empty.drawn, empty.replayed
    worker_s = steps * (found.step_s + INFERENCE_S)
    iterations = [
        {
            "sampling_s": longer * sampling_s,
            "optimize_s": 13 * steps / 5000 * 5,
            "samples": steps * environments,
            "resets": int(drawn[number * steps : (number + 1) * steps].sum()),
            "worker_s": [longer * worker_s[number]] * (environments // each),
        }
        for number, sampling_s in enumerate(found.sampling_s)
    ]
    return replace(empty, figures={**figures, "iterations": iterations})


def in_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the model simulate little, figures be PNG, and PyTorch unasked for a GPU."""
    monkeypatch.setattr(model, "ITERATIONS", 2)
    monkeypatch.setattr(case_study, "device", lambda: "cpu")
    monkeypatch.setattr(figure_files, "FIGURE_FORMATS", ("png",))


def parts(wait_ms: float = 80.0) -> pd.DataFrame:
    """Of one vectorised run of 100 ms a step."""
    rows = [("subproc", 0, part, ms) for part, ms in (("simulation", 100 - wait_ms), ("wait", wait_ms))]
    return pd.DataFrame(rows, columns=["name", "repetition", "part", "milliseconds"])


@pytest.fixture(scope="module")
def measured() -> list[Sampled]:
    """One run of each workload, each as long as the model says, RLlib's twice as long."""
    runs = [as_the_model_says(name, longer=2.0 if name.startswith("rllib") else 1.0) for name in SAMPLERS]
    return [*runs, *(as_the_model_says(f"real_{name}", environment="real") for name in ("subproc", "batched"))]


def test_runs_that_take_as_long_as_the_model_says_agree_with_it(
    measured: list[Sampled], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_little_time(monkeypatch)
    found = {name: estimate.value for name, estimate in metrics_of(measured, parts()).items()}
    assert found["measured_penalty_to_model"] == pytest.approx(1)
    assert found["measured_hybrid_to_model"] == pytest.approx(1)
    assert found["measured_rllib_to_model"] == pytest.approx(2)
    assert found["measured_lock_step_wait_percent"] == pytest.approx(80)
    assert found["measured_inference_batched_to_lock_step"] == pytest.approx(1)
    assert found["measured_sampling_speedup"] > 3
    assert found["measured_real_speedup"] > 2
    assert found["measured_lock_step_gain_twice"] < found["measured_batched_gain_twice"]


def test_a_penalty_that_is_not_the_models_is_found(measured: list[Sampled]) -> None:
    slower = [as_the_model_says("subproc", longer=1.5), *(run for run in measured if run.name != "subproc")]
    found = metrics_of(slower, parts())["measured_penalty_to_model"]
    assert (found.value, found.low, found.repetitions) == (pytest.approx(1.5), pytest.approx(1.5), 3)


def test_hours_are_those_of_environments_as_fast_as_the_talks() -> None:
    run = as_the_model_says("subproc")
    hours = measured_hours([run]).set_index("sampler").loc[LOCK_STEP, "hours"]
    step_s = np.mean(run.replayed.step_s) / 5 + INFERENCE_S
    assert hours == pytest.approx((5000 * step_s + 13) * 20e6 / 120_000 / 3600)


def without_a_worker(sampled: Sampled) -> Sampled:
    lost = {"worker": "worker_3", "pid": 7, "ended": "by SIGKILL"}
    return replace(sampled, figures={**sampled.figures, "lost_workers": [lost]})


def test_a_run_that_has_lost_a_worker_is_in_no_metric(measured: list[Sampled]) -> None:
    broken = without_a_worker(measured[1])
    found = metrics_of([broken, *measured[5:]], parts()[:0])
    assert not {"measured_lock_step_hours", "measured_penalty_to_model"} & set(found)
    assert study.losses([broken, *measured[5:]]) == [
        "subproc (subproc), repetition 0, lost worker_3: it is in no figure and no verdict."
    ]


def test_every_claim_is_of_the_model_or_measured(measured: list[Sampled], monkeypatch: pytest.MonkeyPatch) -> None:
    in_little_time(monkeypatch)
    known = set(metrics_of(measured, parts())) | set(common_metrics()) | set(preset_metrics(PRESETS["talk"]))
    assert {claim.metric for claim in CLAIMS} == known
    assert {f"C-{number:02}" for number in range(1, 12)} <= {claim.id for claim in CLAIMS}


def test_the_model_of_the_talk_has_its_known_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    in_little_time(monkeypatch)
    verdicts = {
        (each.claim.metric, each.claim.condition, each.subject): each for each in study.judged({}, False, NO_CAVEATS)
    }
    for metric, condition, holds in (
        ("model_lock_step_sampling_percent", "> 85 and < 95", True),
        ("model_end_to_end_speedup", "> 3 and < 5.5", True),
        ("model_cluster_speedup_serial", "> 4", False),
        ("model_cluster_speedup_overlapped", "> 4", False),
        ("model_cluster_speedup_short_update", "> 4 and < 8", True),
        ("model_batched_sampling_s", "< 24", False),
    ):
        for source in model.SOURCES.values():
            assert (verdicts[metric, condition, source].verdict == HOLDS) is holds, metric
    assert {each.verdict for each in verdicts.values() if each.subject == study.MEASURED} == {NOT_TESTABLE}


def test_what_the_model_says_is_no_measurement(measured: list[Sampled], monkeypatch: pytest.MonkeyPatch) -> None:
    in_little_time(monkeypatch)
    verdicts = study.judged(metrics_of(measured, parts()), False, NO_CAVEATS)
    assert {each.is_calculated for each in verdicts if each.subject == study.MEASURED} == {False}
    assert {each.is_calculated for each in verdicts if each.subject != study.MEASURED} == {True}


def test_what_is_measured_of_iterations_says_so(measured: list[Sampled]) -> None:
    found = metrics_of(measured, parts())
    assert found["measured_lock_step_hours"].counted == "n=3 iterations"
    assert found["measured_lock_step_wait_percent"].counted == "n=1 run"


def test_the_model_without_resets_gains_what_steps_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "ITERATIONS", 20)
    found = common_metrics()
    assert found["model_gaussian_gain_5_percent"].value == pytest.approx(9, abs=1)
    assert found["model_gaussian_gain_25_percent"].value == pytest.approx(43, abs=1)


def test_hours_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    in_little_time(monkeypatch)
    hours = model_hours().set_index(["sampler", "source"])["hours"]
    assert hours[LOCK_STEP, "Model, sampling of 150 s"] == pytest.approx(7.6, rel=0.01)
    assert hours[BATCHED, "Model, sampling of 150 s"] == pytest.approx(1.9, rel=0.01)
    assert hours[model.OVERLAPPED, "Model, step of 24 ms"] == pytest.approx(0.6, rel=0.01)


def test_samplers_stand_beside_the_model(measured: list[Sampled]) -> None:
    table = comparison_table(measured).set_index("sampler")
    assert list(table.index) == list(SAMPLERS)
    assert table.loc["hybrid", ["environments", "per_worker", "iterations"]].to_list() == [24, 4, 3]
    assert table.loc["rllib", "measured_to_model"] == pytest.approx(2)
    assert table.loc["dummy", "step_ms"] > 4 * 15


def rows(*each: tuple[str, str, str, str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(each, columns=BREAKDOWN)


def sampled_for(environments: int, each: int, sampling_s: float, resets: int) -> Sampled:
    """One iteration of 10 steps."""
    iterations = [{"sampling_s": sampling_s, "optimize_s": 1.0, "samples": 10 * environments, "resets": resets}]
    figures = {"environments": environments, "environments_per_worker": each, "steps": 10, "iterations": iterations}
    return Sampled("free", "free", "timed", 0, OPTIONS, figures)


def test_parts_of_a_lock_step_are_those_of_its_environments() -> None:
    breakdown = rows(
        ("main", "sampling", "inference", "inference", "backend", 0.1),
        ("main", "sampling", "simulation", "simulation", "wait", 2.0),
        ("main", "sampling", "simulation", "simulation", "python", 0.2),
        ("main", "(none)", "simulation", "reset", "wait", 9.0),
        *(
            (f"ForkProcess-{number}", phase, "simulation", operation, "wait", seconds)
            for number in (1, 2)
            for phase, operation, seconds in (
                ("starting", "reset", 7.0),
                ("(none)", "simulation", 0.4),
                ("(none)", "reset", 0.3),
            )
        ),
        ("ForkProcess-1", "(none)", "(none)", "(none)", "wait", 5.0),
    )
    found = parts_ms(breakdown, sampled_for(2, 2, sampling_s=2.4, resets=2))
    assert found == pytest.approx({"inference": 10, "simulation": 40, "reset": 30, "wait": 130, "rest": 30})


def test_parts_of_free_workers_are_their_own_and_the_wait_for_the_slowest() -> None:
    breakdown = rows(
        *(
            (f"worker_{number}", "sampling", stage, operation, "wait", seconds)
            for number, reset_s in ((0, 0.0), (1, 1.0))
            for stage, operation, seconds in (
                ("inference", "inference", 0.2),
                ("simulation", "simulation", 0.5),
                ("simulation", "reset", reset_s),
                ("(none)", "(none)", 0.1),
            )
        ),
        ("worker_0", "(none)", "inference", "inference", "backend", 7.0),
        ("main", "sampling", "training_loop", "training_loop", "wait", 1.8),
        ("main", "(none)", "simulation", "simulation", "python", 0.003),
    )
    found = parts_ms(breakdown, sampled_for(2, 1, sampling_s=1.8, resets=1))
    assert found == pytest.approx({"inference": 20, "simulation": 50, "reset": 50, "wait": 50, "rest": 10})


def test_environments_that_are_stepped_in_turn_wait_for_nobody() -> None:
    breakdown = rows(
        ("main", "sampling", "inference", "inference", "backend", 0.1),
        ("main", "sampling", "simulation", "simulation", "wait", 1.2),
        ("main", "sampling", "simulation", "reset", "wait", 0.6),
    )
    found = parts_ms(breakdown, sampled_for(4, 4, sampling_s=2.0, resets=1))
    assert found == pytest.approx({"inference": 10, "simulation": 120, "reset": 60, "wait": 0, "rest": 10})


def test_parts_are_drawn_corrected_with_the_recorded_ones_beside() -> None:
    """Of 1.2 s of steps 0.2 s are recording: the stopwatch of the sampler has them, so they are in the rest."""
    breakdown = rows(
        ("main", "sampling", "inference", "inference", "backend", 0.1),
        ("main", "sampling", "simulation", "simulation", "wait", 1.2),
    ).assign(corrected_seconds=[0.1, 1.0])
    table = parts_table([(sampled_for(4, 4, sampling_s=2.0, resets=1), breakdown)]).set_index("part")
    shown = table.loc[["simulation", "rest"], ["milliseconds", "uncorrected_milliseconds"]].to_numpy()
    assert shown == pytest.approx(np.array([[100, 120], [90, 70]]))
    assert set(table["corrected"]) == {"yes"}


def test_there_are_no_parts_where_nobody_was_seen_to_ask_the_policy() -> None:
    breakdown = rows(("main", "sampling", "training_loop", "training_loop", "wait", 1.8))
    assert parts_ms(breakdown, sampled_for(2, 1, sampling_s=1.8, resets=1)) == {}


def test_what_is_calculated_has_no_interval() -> None:
    waste = next(claim for claim in CLAIMS if claim.metric == "model_waste_hours")
    assert waste.measured_text(exact(51.5)) == "51.5 h"


def planned(budget: str, output: Path, monkeypatch: pytest.MonkeyPatch) -> list[StudyRun]:
    monkeypatch.setattr(case_study, "python_of", lambda environment, package: Path("python"))
    monkeypatch.setattr(case_study, "device", lambda: "cpu")
    return CaseStudy(study.HERE, budget, output, repetitions=2).runs()


@pytest.mark.parametrize("budget", BUDGETS)
def test_samplers_meet_the_same_ends_of_episodes(budget: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = planned(budget, tmp_path, monkeypatch)
    assert {run.workload.name for run in runs} >= set(SAMPLERS)
    given = [(run, options_of(run.run)) for run in runs]
    assert all(options["seed"] == str(run.repetition) and "device" not in options for run, options in given)
    timed = [options for _, options in given if options["environment"] == "timed"]
    draws = ("steps", "step-ms", "reset-ms", "reset-probability")
    assert len({tuple(options[name] for name in draws) for options in timed}) == 1
    for options in timed:  # the update is as long as the talk's 13 s are for 5000 steps of 3 ms
        update_ms = 13_000 * int(options["steps"]) / 5000 * float(options["step-ms"]) / 3
        assert float(options["optimize-ms"]) == pytest.approx(update_ms, rel=1e-4)
    assert command_of(runs[0].run)[1:5] == ["-m", "rlscope", "record", "--force"]


def test_options_without_a_value_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run, *_) = [run for run in planned("quick", tmp_path, monkeypatch) if run.workload.name == "rllib_cluster"]
    assert "--cluster" in run.run.arguments
    options = options_of(run.run)
    assert "cluster" not in options
    assert (options["sampler"], options["environments-per-worker"]) == ("rllib", "2")


def leave(planned: StudyRun, sampled: Sampled) -> Execution:
    """What executing a run leaves: what it printed, a manifest, and a trace of a process that asks and steps."""
    execution = leave_run(planned, sampled.figures)
    process = (writer := TraceWriter(execution.trace)).process(pid=1)
    thread = process.thread()
    thread.begin_phase(1000, "sampling")
    for begin, stage in ((1000, "inference"), (3000, "simulation")):
        thread.operation(begin, begin + 2000, stage)
    thread.end(6000)
    process.stop(10_000)
    writer.write_complete()
    return execution


def test_the_study_draws_and_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_little_time(monkeypatch)

    def recorder(runs: Sequence[StudyRun]) -> Recorded:
        ended = [run for run in runs if run.workload.name in ("subproc", "batched")]
        return Recorded({run.directory: leave(run, as_the_model_says(run.workload.name)) for run in ended})

    monkeypatch.setattr(case_study, "python_of", lambda environment, package: Path("python"))
    outcome = study.run(CaseStudy(study.HERE, "quick", tmp_path, recorder=recorder))
    assert {path.stem for path in tmp_path.glob("fig_*.png")} == {
        "fig_train_time",
        "fig_lock_step_grids",
        "fig_sampling_diagnostic",
    }
    shown = (tmp_path / "index.html").read_text()
    assert "What the slides leave out" in shown
    assert "Where the time of each run went" in shown and shown.count(">page of the run</a>") == 2
    hours = pd.read_csv(tmp_path / "fig_train_time.csv")
    assert set(hours["source"]) == {*model.SOURCES.values(), "Measured rates"}
    verdicts = {(each.claim.metric, each.subject): each.verdict for each in outcome.verdicts}
    assert verdicts["measured_penalty_to_model", "Measured"] == HOLDS
    assert verdicts["measured_rllib_to_model", "Measured"] == NOT_TESTABLE


def test_the_study_says_so_where_every_run_has_lost_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_little_time(monkeypatch)

    def recorder(runs: Sequence[StudyRun]) -> Recorded:
        (run, *_) = [run for run in runs if run.workload.name == "subproc"]
        return Recorded({run.directory: leave(run, without_a_worker(as_the_model_says("subproc")))})

    monkeypatch.setattr(case_study, "python_of", lambda environment, package: Path("python"))
    outcome = study.run(CaseStudy(study.HERE, "quick", tmp_path, recorder=recorder))
    assert {path.stem for path in tmp_path.glob("fig_*.png")} == {"fig_train_time", "fig_lock_step_grids"}
    assert "lost worker_3: it is in no figure and no verdict" in (tmp_path / "index.html").read_text()
    assert {each.verdict for each in outcome.verdicts if each.subject == study.MEASURED} == {NOT_TESTABLE}
