"""Studies judge and draw times without what recording added, or say that they include it."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from compared_runs import of_version

from benchmarks.trace_writer import TraceWriter
from experiments import CHECKOUT
from experiments.harness.case_study import CaseStudy
from experiments.harness.matrix import Entry
from experiments.harness.progress import StudyRun, Workload
from experiments.overhead_correction.first_calibration import calibrate_first
from experiments.RL_framework_comparison import metrics as framework_metrics
from experiments.RL_framework_comparison import run as framework_comparison
from experiments.RL_framework_comparison.measurements import load
from experiments.verdicts.claims import HOLDS, IN_CUDA, NOT_TESTABLE, UNCORRECTED, UNDECIDED, Claim, judge, load_claims
from experiments.verdicts.corrected import NO_CAVEATS, Caveats, add_correction, analyzed, caveats_of
from experiments.verdicts.results import Result, cuda_to_gpu, folded_result, mean_table, over_calibration
from experiments.verdicts.statistics import Estimate, estimated_mean, widened
from rlscope.analysis.correction.corrected import AppliedCorrection
from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.calibration.calibration import Calibration, Conditions, cache_path, conditions_here, save
from rlscope.model import Category
from rlscope.page.plain_page import Page

HERE = Conditions("a cpu", 2, "monotonic", "3.11.7", "0.1.0")
SECOND = 1_000_000_000
WORKLOAD = Workload("PPO", "PPO", "walker", "on-policy")


def cost(inside_ns: float, off: float = 0.0) -> Cost:
    """All inside the event; it may be `off` as much of itself."""
    zero = Bounds(0, 0, 0)
    return Cost(Bounds(inside_ns * (1 - off), inside_ns, inside_ns * (1 + off)), zero, zero, events=1000)


COSTS = {"boundary": cost(1e6), "cuda": cost(2e6, off=0.25), "operation": cost(0)}


def trained(directory: Path, costs: dict[str, Cost] | None, made_on: Conditions = HERE) -> Path:
    """A trace of 10 s of simulation with 1000 calls of 5 ms, then 10 s of inference with 1000 CUDA calls of 5 ms."""
    process = (writer := TraceWriter(directory)).process(pid=1)
    thread = process.thread()
    thread.progress(0, 0, 1_000_000)
    for stage, start, category in (("simulation", 0, Category.SIMULATOR), ("inference", 10, Category.CUDA)):
        thread.begin_operation(start * SECOND, stage)
        for call in range(1000):
            at = start * SECOND + call * SECOND // 100
            thread.boundary(at, at + SECOND // 200, category, "step")
        thread.end((start + 10) * SECOND)
    thread.progress(20 * SECOND, 1000, 1_000_000)
    process.stop(20 * SECOND)
    manifest: dict[str, Any] = {
        "main_pid": 1, "exit_status": 0, "complete": True, "python": "3.11.7", "rlscope_version": "0.1.0",
        "machine": {"cpu": "a cpu", "cores": 2},
    }  # fmt: skip
    if costs is not None:
        manifest["calibration"] = Calibration(made_on, "2026-01-02T03:04:05Z", {}, costs).to_json_dict()
    return writer.write(manifest)


@pytest.fixture(autouse=True)
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def result(trace: Path) -> Result:
    analysis = analyzed(trace)
    return folded_result(
        WORKLOAD,
        analysis.breakdown.table,
        analysis.correction,
        analysis.uncorrected,
        1000,
        analysis.extrapolated_s,
        tells_no_core=analysis.no_core_share is not None,
    )


def test_a_study_has_corrected_times_and_the_recorded_ones_beside(tmp_path: Path) -> None:
    found = result(trained(tmp_path / "trace", COSTS))
    rows = mean_table([found]).set_index(["stage", "category"])
    simulator = rows.loc[("simulation", "simulator")]
    # Of 5 s in each layer of the two stages, 1 s of the simulator and 2 s of CUDA are recording: 17 of 20 s are left.
    assert simulator[["percent", "uncorrected_percent"]].tolist() == pytest.approx([100 * 4 / 17, 25])
    assert simulator[["training_s", "uncorrected_training_s"]].tolist() == pytest.approx([17_000, 20_000])
    assert simulator[["seconds", "uncorrected_seconds"]].tolist() == pytest.approx([4000, 5000])
    assert simulator["corrected"] == "yes"
    assert found.cuda_s.seconds == pytest.approx(3)
    assert found.cuda_s.low_s < 2.5 and found.cuda_s.high_s > 3.5


@pytest.mark.parametrize(
    ("costs", "made_on", "why"),
    [
        (None, HERE, "there is no calibration in"),
        (COSTS, replace(HERE, cores=4), "cores 2 was expected, 4 was found"),
    ],
)
def test_without_a_calibration_of_its_machine_a_study_says_so(
    costs: dict[str, Cost] | None, made_on: Conditions, why: str, tmp_path: Path
) -> None:
    found = result(trained(tmp_path / "trace", costs, made_on))
    table = mean_table([found])
    assert set(table["corrected"]) == {"no"}
    assert table["percent"].tolist() == table["uncorrected_percent"].tolist() == pytest.approx([25] * 4)
    assert why in found.uncorrected
    assert (caveats_of([found]).times, caveats_of([found]).cuda) == (found.uncorrected,) * 2
    page = Page("a study")
    add_correction(page, [found])
    page.write(tmp_path / "index.html")
    assert "Times include what recording added: " in (tmp_path / "index.html").read_text()


def test_repetitions_of_which_only_some_are_corrected_are_told_apart(tmp_path: Path) -> None:
    results = [result(trained(tmp_path / str(number), costs)) for number, costs in enumerate((COSTS, None))]
    assert set(mean_table(results)["corrected"]) == {"partly"}
    assert caveats_of(results).times


def test_a_page_says_how_much_was_subtracted(tmp_path: Path) -> None:
    page = Page("a study")
    add_correction(page, [result(trained(tmp_path / "trace", COSTS))])
    page.write(tmp_path / "index.html")
    text = (tmp_path / "index.html").read_text()
    assert "without what recording added: 18 % (" in text
    assert "calibrated 2026-01-02T03:04:05Z" in text


@pytest.mark.parametrize(
    ("shares", "said"), [((0.02, 0.31), "up to 31 %"), ((None, 0.31), "up to 31 %"), ((None, None), "an unknown share")]
)
def test_a_page_says_how_much_of_the_time_runs_had_no_core(
    shares: tuple[float | None, ...], said: str, tmp_path: Path
) -> None:
    page = Page("a study")
    found = result(trained(tmp_path / "trace", COSTS))
    add_correction(page, [replace(found, no_core_share=share) for share in shares])
    page.write(tmp_path / "index.html")
    assert f"waited for a core for {said} of their time" in (tmp_path / "index.html").read_text()


def test_of_a_trace_that_does_not_tell_time_without_a_core_it_is_unknown(tmp_path: Path) -> None:
    trace = trained(tmp_path / "trace", COSTS)
    of_version(trace, 9)
    assert analyzed(trace).no_core_share is None
    assert result(trace).no_core_share is None


def claim(metric: str, above: float, corrected: bool) -> Claim:
    return Claim("A-10", "more", metric, "seconds", "3.6", "gpu", "nothing", above, corrected=corrected)


def test_time_in_cuda_calls_is_judged_without_what_recording_adds_or_not_at_all() -> None:
    claims = [claim("cuda", 1.0, corrected=True), claim("simulation", 1.0, corrected=False)]
    measured = {"TD3": {name: Estimate(2.7, 2.6, 2.8, 3) for name in ("cuda", "simulation")}}
    assert [found.verdict for found in judge(claims, measured, "gpu", False)] == [HOLDS, HOLDS]
    cuda, simulation = judge(claims, measured, "gpu", False, caveats=Caveats("no calibration", "no calibration"))
    assert (cuda.verdict, cuda.measured, cuda.remark) == (NOT_TESTABLE, None, f"{IN_CUDA}: no calibration")
    assert (simulation.verdict, simulation.remark) == (HOLDS, UNCORRECTED)


def test_times_of_cuda_calls_that_no_calibration_knows_are_uncorrected(tmp_path: Path) -> None:
    without_cuda = {name: found for name, found in COSTS.items() if name != "cuda"}
    found = caveats_of([result(trained(tmp_path / "trace", without_cuda))])
    assert found.times == ""
    assert found.cuda == "what recording adds to a CUDA call is not known (1,000 calls); run `rlscope calibrate` there"
    assert caveats_of([result(trained(tmp_path / "known", COSTS))]) == NO_CAVEATS


def test_a_ratio_that_the_calibration_may_move_across_the_limit_is_undecided(tmp_path: Path) -> None:
    """Three runs that agree on 3.0 s in CUDA calls, of a calibration that may be off by half a second."""
    runs = [replace(result(trained(tmp_path / str(number), COSTS)), gpu_s=2.8) for number in range(3)]
    alone = estimated_mean([cuda_to_gpu(run, "seconds") for run in runs])
    found = over_calibration(lambda end: estimated_mean([cuda_to_gpu(run, end) for run in runs]))
    above = claim("cuda", 1.0, corrected=True)
    assert alone.value == found.value == pytest.approx(3 / 2.8)
    assert (above.verdict_on(alone), above.verdict_on(found)) == (HOLDS, UNDECIDED)


def test_errors_of_repetitions_and_of_a_calibration_are_summed_in_squares() -> None:
    found = widened(Estimate(10, 7, 13, 3), 6, 14)
    assert (found.value, found.low, found.high) == (10, 5, 15)
    assert widened(Estimate(10, None, None, 1), 6, 14).low is None


def test_claims_about_time_in_cuda_calls_are_marked() -> None:
    marked = {
        (path.parent.name, each.metric)
        for path in (CHECKOUT / "experiments").glob("*/claims.toml")
        for each in load_claims(path)
        if each.corrected
    }
    about_cuda = {
        (path.parent.name, each.metric)
        for path in (CHECKOUT / "experiments").glob("*/claims.toml")
        for each in load_claims(path)
        if "CUDA calls over seconds" in each.definition
    }
    about_cuda |= {("simulator_choice", "cuda_to_other_categories")}
    assert marked == about_cuda
    assert len(marked) == 5


def kept_machine(directory: Path, correction: AppliedCorrection | None) -> Path:
    """What a machine with a GPU has left: three runs of two stacks, 10 s each, of which 4 s are compiling."""
    origin = {
        "device": "cuda", "budget": "quick", "command": "a command", "date": "2026-01-02",
        "machine": {"cpu": "a cpu", "cores": 2, "gpus": ["a GPU"]}, "versions": {"python": "3.12"},
        "recorders": [],
    }  # fmt: skip
    directory.mkdir()
    (directory / "machine.json").write_text(json.dumps(origin))
    pieces = [
        ("backpropagation", "compile", "cuda", "cpu", 4.0, 4.0),
        ("backpropagation", "update", "cuda", "cpu", 3.0, 1.5),
        ("backpropagation", "update", "backend", "cpu+gpu", 1.0, 1.0),
        ("simulation", "step", "simulator", "cpu", 2.0, 2.0),
    ]
    for stack in ("pytorch_eager", "jax_loop"):
        for repetition in range(3):
            rows = [
                {
                    "process": "main", "phase": "(none)", "stage": stage, "operation": operation, "category": category,
                    "resource": resource, "seconds": seconds, "corrected_seconds": left if correction else None,
                    "corrected_low_s": 0.8 * left if correction else None,
                    "corrected_high_s": 1.2 * left if correction else None,
                }
                for stage, operation, category, resource, seconds, left in pieces
            ]  # fmt: skip
            document = {
                "processes": [{"process": "main", "role": "main"}], "breakdown": rows, "timesteps": 3000,
                "correction": asdict(correction) if correction else None,
                "uncorrected": "" if correction else "nothing was calibrated",
            }  # fmt: skip
            (directory / f"{stack}_{repetition}.json").write_text(json.dumps(document))
    return directory


ENTRIES = [Entry(name=name, label=name, kind="eager") for name in ("pytorch_eager", "jax_jit", "jax_loop")]


def test_kept_frameworks_are_judged_without_what_recording_added(tmp_path: Path) -> None:
    kept = load(kept_machine(tmp_path / "h200", AppliedCorrection("a test", "main", 50, 40, 60, (), {})), ENTRIES)
    table = kept.table().set_index("workload")
    assert list(table.index) == ["pytorch_eager", "jax_loop"]
    eager = table.loc["pytorch_eager"]
    assert eager[["training_s", "uncorrected_training_s", "cuda_to_gpu", "repetitions"]].tolist() == [4.5, 6, 1.5, 3]
    assert eager[["cuda_to_gpu_low", "cuda_to_gpu_high"]].tolist() == pytest.approx([1.2, 1.8])
    claims = load_claims(framework_comparison.HERE / "claims.toml")
    verdicts = kept.verdicts_on(claims, framework_metrics.gpu_measurements(kept.results))
    found = {verdict.claim.metric: verdict.verdict for verdict in verdicts}
    assert found["smallest_cuda_to_gpu"] == HOLDS
    assert set(found) == {each.metric for each in claims if each.hardware == "gpu"}
    assert {verdict.subject for verdict in verdicts} == {"TD3, a GPU"}
    assert all("measured on a GPU, 2026-01-02, by `a command`" in verdict.remark for verdict in verdicts)


def test_kept_frameworks_that_were_not_corrected_decide_nothing_about_cuda(tmp_path: Path) -> None:
    kept = load(kept_machine(tmp_path / "h200", None), ENTRIES)
    claims = load_claims(framework_comparison.HERE / "claims.toml")
    verdicts = kept.verdicts_on(claims, framework_metrics.gpu_measurements(kept.results))
    about_cuda = [verdict for verdict in verdicts if verdict.claim.id == "A-10"]
    assert [verdict.verdict for verdict in about_cuda] == [NOT_TESTABLE] * 2
    assert all("nothing was calibrated" in verdict.remark for verdict in about_cuda)
    assert all(UNCORRECTED in verdict.remark for verdict in verdicts if verdict not in about_cuda)


def test_what_is_kept_of_frameworks_can_be_judged() -> None:
    """A machine without an eager stack says nothing of one of the five claims."""
    judged = set()
    for kept in framework_comparison.kept_frameworks().values():
        metrics = framework_metrics.gpu_measurements(kept.results)
        verdicts = kept.verdicts_on(load_claims(framework_comparison.HERE / "claims.toml"), metrics)
        assert len(verdicts) == len(metrics) >= 4
        judged |= set(metrics)
    assert len(judged) == 5


def planned(study: str, tmp_path: Path) -> StudyRun:
    return CaseStudy(CHECKOUT / "experiments" / study, "smoke", tmp_path).runs()[0]


def test_a_machine_without_a_calibration_is_calibrated_before_the_first_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command is the real one; a script in the place of Python writes its file, as measuring takes minutes."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho measured > "$2"\n')
    python.chmod(0o755)
    run = planned("overhead_correction", tmp_path)
    runs = [planned("algorithm_choice", tmp_path), replace(run, run=replace(run.run, python=python))]
    calibrate_first(runs[:1])
    assert not cache_path().exists()
    calibrate_first(runs)
    assert cache_path().read_text() == "measured\n"
    assert f"measuring what recording costs into {cache_path()}" in capsys.readouterr().err
    save(Calibration(conditions_here("tsc"), "2026-01-02T03:04:05Z", {}, COSTS), cache_path())
    calibrate_first(runs)
    assert "measuring" not in capsys.readouterr().err


def test_studies_go_on_where_a_machine_cannot_be_calibrated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = planned("overhead_correction", tmp_path)
    calibrate_first([replace(run, run=replace(run.run, python=Path("/bin/false")))])
    assert "rlscope: studies go on with uncorrected times: expected a calibration" in capsys.readouterr().err
