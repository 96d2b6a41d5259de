"""What the study of simulators makes of those that run on a GPU: exact numbers of made-up runs, figure, verdicts."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from executed_runs import leave_run, on

from benchmarks.trace_writer import TraceWriter
from experiments.harness import case_study
from experiments.harness.case_study import CaseStudy
from experiments.harness.execute import Execution
from experiments.harness.progress import Recorded, StudyRun
from experiments.simulator_choice import run as study
from experiments.simulator_choice.device_figure import RECORDS, device_figure
from experiments.simulator_choice.device_measurements import (
    BUSY,
    COLUMNS,
    IDLE,
    IN_ONE_CALL,
    KEY,
    Measurements,
    Tables,
    load,
    stage_of,
    tables_of,
    waits,
)
from experiments.simulator_choice.device_metrics import device_table, metrics_of
from experiments.verdicts import other_machines
from experiments.verdicts.claims import DIFFERS, HOLDS, NOT_TESTABLE, load_claims
from experiments.verdicts.other_machines import MEASUREMENTS
from experiments.verdicts.study_page import StudyPage
from rlscope.errors import IncompleteTraceError
from rlscope.model import Category, DeviceWork
from rlscope.plots import figure_files
from rlscope.plots.style import BETWEEN_STAGES

CLAIMS = [claim for claim in load_claims(study.HERE / "claims.toml") if claim.figure == study.DEVICE]
MS = 1_000_000
#: Of a made-up run: environments, steps of all of them that are recorded, and iterations.
ENVIRONMENTS, STEPS = 10, 4
PRINTED = {"environments": ENVIRONMENTS, "physics_steps": 5, "iteration_s": [9.0, 9.0, *4 * [0.1], 0.5, 1.5]}


def leave(planned: StudyRun) -> Execution:
    """What a run leaves: 10 ms, 4 of them in simulation, 5 in one call; the GPU simulates from 3 to 5."""
    execution = leave_run(planned, PRINTED, gpus=("a GPU",))
    writer = TraceWriter(execution.trace)
    main = (process := writer.process()).thread()
    main.progress(0, 2 * ENVIRONMENTS * STEPS, is_baseline=True)
    for operation in ("training_loop", "simulation"):
        main.begin_operation(0, operation)
    for start, end, category, name in (
        (0, 1, Category.CUDA, "cuLaunchKernel"),
        (1, 4, Category.CUDA_WAIT, "cuStreamSynchronize"),
    ):
        main.boundary(start * MS, end * MS, category, name)
    main.end(4 * MS)
    main.begin_operation(4 * MS, "simulation+inference")
    for start, name in ((4, "cuGraphLaunch"), (5, "cuLaunchKernelEx"), (6, "cudaMemcpyAsync"), (7, "cuModuleLoadData")):
        main.boundary(start * MS, (start + 1) * MS, Category.CUDA, name)
    for end in (9, 10):
        main.end(end * MS)
    main.progress(10 * MS, 3 * ENVIRONMENTS * STEPS)
    queue, site = process.queue(0), process.launch_site("simulation", "simulation")
    for start in (3, 4):
        queue.record(DeviceWork.KERNEL, start * MS, (start + 1) * MS, "ant", site)
    process.stop(10 * MS)
    writer.write_complete()
    return execution


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CaseStudy:
    """The study on a machine with a GPU and nothing but the packages of simulators on it; all runs end at once."""
    on(monkeypatch, "cuda")
    names = ("torch", "brax", "mujoco_playground", "rsl_rl", "cupy")
    monkeypatch.setattr(
        case_study, "python_of", lambda environment, package: Path("python") if package in names else None
    )
    monkeypatch.setattr(other_machines, "MEASURED", str(tmp_path / "kept"))
    monkeypatch.setattr(figure_files, "FIGURE_FORMATS", ("png",))

    def recorder(runs: Sequence[StudyRun]) -> Recorded:
        return Recorded({run.directory: leave(run) for run in runs})

    return CaseStudy(study.HERE, "quick", tmp_path / "output", recorder=recorder)


def test_tables_of_a_known_run(planned: CaseStudy) -> None:
    run = planned.runs()[0]
    tables = tables_of([(run, leave(run))])
    (counts,) = tables.counts.drop(columns=KEY).to_dict("records")
    rate = ENVIRONMENTS * STEPS / 1.0  # an iteration's timesteps over the mean of 0.5 and 1.5 s
    expected = {"environments": 10, "physics_steps": 5, "steps": 4, "launches": 3, "kernels": 2, "waits": 1}
    assert counts == {**expected, "steps_per_s": rate}
    seconds = tables.stages.groupby("stage")["seconds"].sum().to_dict()
    assert seconds == pytest.approx({"simulation": 0.005, IN_ONE_CALL: 0.004, BETWEEN_STAGES: 0.001})
    (row,) = device_table(tables).to_dict("records")
    shown = {
        "simulation_percent": 50, "in one call_percent": 40, "between stages_percent": 10, "inference_percent": 0,
        "busy_percent": 20, "launches_per_step": 0.75, "kernels_per_step": 0.5, "waits_per_step": 0.25,
        "physics_per_s": 5 * 10 * 4 / 0.005, "steps_per_s": rate,
    }  # fmt: skip
    assert {name: row[name] for name in shown} == pytest.approx(shown)


def test_only_a_simulator_with_an_id_is_told_it(planned: CaseStudy) -> None:
    given = {run.workload.name: run.run.arguments for run in planned.runs()}
    assert given["mjx_whole"][:4] == ("--calls", "whole", "--env", "MJX ant")
    assert (
        given["rsl_rl"]
        == given["cartpole_fused"]
        == (*("--seed", "2", "--total-timesteps", "2000000", "--stop-after", str(12 * 131072), "--device", "cuda"),)
    )


def test_a_run_without_later_iterations_is_an_error(planned: CaseStudy) -> None:
    run = planned.runs()[0]
    window = replace(run.run, delay_iterations=2, max_iterations=6)
    with pytest.raises(IncompleteTraceError, match="recorded iterations and later ones, found 1 and 0"):
        tables_of([(run, replace(leave(run), run=window))])


@pytest.mark.parametrize(
    ("operation", "stage"),
    [
        ("simulation+inference+backpropagation", IN_ONE_CALL),
        ("simulation", BETWEEN_STAGES),  # stage (none): an operation of this name would have it
        ("a+b", BETWEEN_STAGES),
        ("training_loop", BETWEEN_STAGES),
    ],
)
def test_only_names_of_stages_are_one_call(operation: str, stage: str) -> None:
    assert stage_of("training_loop", operation) == stage
    assert stage_of("simulation", operation) == "simulation"


def test_calls_that_wait() -> None:
    names = (
        "cudaDeviceSynchronize",
        "cuEventSynchronize",
        "cudaMemcpy",
        "cuMemcpyDtoH",
        "cudaMemcpyAsync",
        "cuLaunchKernel",
    )
    assert [waits(name) for name in names] == [True, True, True, True, False, False]


def made_tables() -> Tables:
    """Three runs of each workload, alike: what they do in a second of each stage, with the GPU busy in simulation."""
    seconds = {
        "brax_parts": (4, 1, 5, 0), "brax_whole": (0, 0, 0, 1), "mjx_parts": (8, 1, 1, 0), "mjx_whole": (0, 0, 0, 2),
        "rsl_rl": (1, 1, 2, 0), "cartpole_fused": (0, 0, 3, 1),
    }  # fmt: skip
    launches = {
        "brax_parts": 30,
        "brax_whole": 10,
        "mjx_parts": 40,
        "mjx_whole": 20,
        "rsl_rl": 100,
        "cartpole_fused": 1,
    }
    stages, counts = [], []
    for workload, lengths in seconds.items():
        for repetition in range(3):
            for stage, length in zip(("simulation", "inference", "backpropagation", IN_ONE_CALL), lengths, strict=True):
                gpu = BUSY if stage in ("simulation", IN_ONE_CALL) else IDLE
                if length:
                    stages.append((workload, repetition, stage, gpu, length, length))
            counts.append((workload, repetition, 4096, 5, 10, 10 * launches[workload], 500, 30, 1e6))
    rows = {"stages": stages, "counts": counts}
    return Tables(**{name: pd.DataFrame(rows[name], columns=[*KEY, *COLUMNS[name]]) for name in COLUMNS})


def test_metrics_of_known_runs() -> None:
    found = {name: estimate.value for name, estimate in metrics_of(made_tables()).items()}
    assert found == pytest.approx(
        {
            "smallest_robot_simulation_percent": 40,
            "smallest_whole_busy_percent": 100,
            "smallest_parts_to_whole_launches": 2,
            "rsl_rl_busy_percent": 25,
            "rsl_rl_waits_per_step": 3,
            "mjx_parts_physics_per_s": 5 * 4096 * 10 / 8,
            "mjx_whole_steps_per_s": 1e6,
            "cartpole_fused_steps_per_s": 1e6,
        }
    )
    assert set(found) == {claim.metric for claim in CLAIMS}


def test_a_robot_that_has_not_run_leaves_no_smallest_one() -> None:
    tables = made_tables()
    some = Tables(tables.stages, tables.counts[tables.counts["workload"] != "brax_parts"])
    assert set(metrics_of(tables)) - set(metrics_of(some)) == {
        "smallest_robot_simulation_percent", "smallest_parts_to_whole_launches",
    }  # fmt: skip


def test_the_figure_has_each_stage_and_published_rates() -> None:
    table = device_table(made_tables())
    stages, busy, counts, speed = device_figure(table, {name: name for name in table["workload"]}).axes
    assert [bar.get_height() for bar in stages.containers[0]] == pytest.approx([40, 0, 80, 0, 25, 0])  # type: ignore[attr-defined]
    assert [text.get_text() for text in stages.get_legend().get_texts()] == [
        "In one call", "Backpropagation", "Inference", "Simulation",
    ]  # fmt: skip
    assert [bar.get_height() for bar in busy.patches] == pytest.approx([40, 100, 80, 100, 25, 25])  # type: ignore[attr-defined]
    assert np.array_equal(counts.lines[0].get_ydata(), [30, 10, 40, 20, 100, 1])
    rates = [np.unique(line.get_ydata()) for line in speed.lines]
    assert {rate[0] for rate in rates if len(rate) == 1} >= set(RECORDS.values())


def test_the_study_draws_and_judges_what_ran_on_a_gpu(planned: CaseStudy) -> None:
    outcome = study.run(planned)
    assert {path.stem for path in planned.output.glob("fig_*.png")} == {"fig_simulator_gpu"}
    again = load(planned.output / MEASUREMENTS)
    assert isinstance(again, Measurements) and len(again.tables.counts) == 3 * 7
    verdicts = {verdict.claim.metric: verdict for verdict in outcome.verdicts if verdict.claim in CLAIMS}
    assert verdicts["smallest_robot_simulation_percent"].verdict == HOLDS
    assert verdicts["smallest_robot_simulation_percent"].measured.repetitions == 3  # type: ignore[union-attr]
    assert verdicts["cartpole_fused_steps_per_s"].verdict == DIFFERS


def test_what_a_gpu_has_measured_is_judged_without_one(
    planned: CaseStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.run(planned)
    shutil.copytree(planned.output / MEASUREMENTS, tmp_path / "kept" / "h100")
    on(monkeypatch, "cpu")
    without = replace(planned, output=tmp_path / "without")
    page = StudyPage("", without.output)
    verdicts = study.verdicts_on_devices(without, page, CLAIMS, [])
    assert {verdict.subject for verdict in verdicts} == {"a GPU"}
    assert {path.name for path in without.output.glob("fig_*.png")} == {"fig_simulator_gpu_h100.png"}
    monkeypatch.setattr(other_machines, "MEASURED", str(tmp_path / "nothing"))
    assert {verdict.verdict for verdict in study.verdicts_on_devices(without, page, CLAIMS, [])} == {NOT_TESTABLE}
