"""What the scale-up study makes of the tables of recorded self-play."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from executed_runs import leave_run, measured_on, on

from benchmarks.trace_writer import TraceWriter
from experiments.harness.case_study import CaseStudy
from experiments.harness.execute import Execution, command_of
from experiments.harness.matrix import load_matrix
from experiments.harness.progress import Recorded, StudyRun
from experiments.harness.workload_output import figures_in
from experiments.scale_up import run as study
from experiments.scale_up.measurements import KEY, RUN_COLUMNS, Measurements, Tables, load, tables_of
from experiments.scale_up.metrics import busy_table, metrics_of
from experiments.verdicts import other_machines
from experiments.verdicts.claims import DIFFERS, HOLDS, NOT_TESTABLE, load_claims
from experiments.verdicts.other_machines import THIS_MACHINE, verdicts_of
from rlscope.errors import IncompleteTraceError
from rlscope.model import Category
from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME

PHASE_COLUMNS = [*KEY, "process", "phase", "start_s", "end_s", "wall_s", "cpu_s", "gpu_s", "wait_s"]
EDGE_COLUMNS = [*KEY, "process", "phase", "on", "count", "wait_s"]
CLAIMS = load_claims(study.HERE / "claims.toml")


def timeline(inference: str, repetition: int, busy: float) -> pd.DataFrame:
    """Eight parts of 2 s, of which self-play is the second to fifth; the last of these was not sampled."""
    starts = [2.0 * part for part in range(8)]
    values = [0.9, busy, busy, busy, busy, 0.9, 0.9, 0.9]
    reported = [0.1, 0.8, 1.0, 0.9, float("nan"), 0.1, 0.1, 0.1]
    table = pd.DataFrame({"device": 0, "start_s": starts, "busy": values, "reported": reported})
    return table.assign(inference=inference, repetition=repetition, end_s=table["start_s"] + 2)[
        [*KEY, "device", "start_s", "end_s", "busy", "reported"]
    ]


def tables_with(device: bool = True, repetitions: int = 1) -> Tables:
    """Two workers that play from 2 s to 10 s, a training of 2 s, an evaluation of 1 s; and the same with a server."""
    runs, phases, edges, cores, devices = [], [], [], [], []
    gpu = float(device)
    for repetition in range(repetitions):
        for inference, moves, batch in (("worker", 10.0 + 10 * repetition, 2.0), ("server", 30.0, 8.0)):
            about = (inference, repetition)
            is_server = inference == "server"
            runs.append((*about, 2, 4, 100, moves, 1000.0, batch))
            for worker, end_s in ((0, 9.0), (1, 10.0)):
                name, wait_s = f"self_play_{worker}", 4.0 if is_server else 0.0
                wall_s = end_s - 2
                own_gpu_s = 0.0 if is_server else 0.07 * wall_s * gpu
                phases.append((*about, name, "(none)", 0.0, 12.0, 3.0, 3.0, 0.0, 0.0))
                phases.append((*about, name, "self_play", 2.0, end_s, wall_s, wall_s - wait_s, own_gpu_s, wait_s))
                edges.append((*about, "training", "(none)", name, 3.0, 2.0))
                edges.append((*about, "main", "(none)", name, 1.0, 2.0))
                if is_server:
                    edges.append((*about, name, "self_play", "inference_server", 50.0, 3.0))
                    edges.append((*about, "inference_server", "serving", name, 50.0, 1.0))
            if is_server:
                phases.append((*about, "inference_server", "serving", 1.0, 11.0, 10.0, 8.0, 0.5 * gpu, 2.0))
            phases.append((*about, "training", "training", 11.0, 13.0, 2.0, 2.0, 0.5 * gpu, 0.0))
            phases.append((*about, "evaluation", "evaluation", 13.5, 14.5, 1.0, 1.0, 0.01 * gpu, 0.0))
            cores.append((*about, 0.0, 16.0, 0.75))
            devices.append(timeline(*about, 0.1 if is_server else 0.05))
    return Tables(
        runs=pd.DataFrame(runs, columns=[*KEY, *RUN_COLUMNS]),
        phases=pd.DataFrame(phases, columns=PHASE_COLUMNS),
        dependencies=pd.DataFrame(edges, columns=EDGE_COLUMNS),
        utilization=pd.DataFrame(cores, columns=[*KEY, "start_s", "end_s", "utilization"]),
        device_timeline=pd.concat(devices) if device else devices[0][:0],
    )


def results(device: str = "cuda", budget: str = "quick") -> Measurements:
    return Measurements(**measured_on(device, budget), tables=tables_with(device == "cuda", repetitions=3))


def test_metrics_of_self_play() -> None:
    found = {name: estimate.value for name, estimate in metrics_of(tables_with()).items()}
    assert found == pytest.approx(
        {
            "worker_self_play_to_next_longest": 4,
            "worker_percent_of_workers_trained_on": 100,
            "worker_reported_to_busy": 18,  # 0.9, where it was sampled, over 0.05
            "worker_reported_to_one_worker": 0.9 / 0.07,
            "worker_largest_gpu_percent": 25,  # the training
            "server_self_play_to_next_longest": 4,
            "server_percent_of_workers_trained_on": 100,
            "server_waits_on_server_percent": 75,
            "server_reported_to_busy": 9,
            "server_largest_gpu_percent": 25,
            "server_to_worker_moves": 3,
            "server_to_worker_batch": 4,
        }
    )


def test_without_a_device_nothing_is_said_of_one() -> None:
    found = metrics_of(tables_with(device=False))
    assert not [name for name in found if "gpu" in name or "busy" in name or "reported" in name]
    assert busy_table(tables_with(device=False)).empty


def test_repetitions_give_intervals() -> None:
    moves = metrics_of(tables_with(repetitions=3))["server_to_worker_moves"]
    assert (moves.value, moves.repetitions) == (1.5, 3)
    assert moves.low is not None and moves.high is not None
    assert moves.low < 1.5 < moves.high


def test_a_worker_from_which_nothing_was_received_is_missed() -> None:
    tables = tables_with()
    edges = tables.dependencies
    lost = replace(tables, dependencies=edges[(edges["process"] != "training") | (edges["on"] != "self_play_1")])
    assert metrics_of(lost)["worker_percent_of_workers_trained_on"].value == 50


def test_one_way_to_evaluate_alone_has_no_ratio() -> None:
    alone = dict(tables_with().of_each_run())["worker"]
    found = metrics_of(alone)
    assert found and all(name.startswith("worker_") for name in found)


def test_the_union_stands_beside_the_sum_over_processes() -> None:
    worker, server = busy_table(tables_with()).to_dict("records")
    assert worker == pytest.approx(
        {"inference": "worker", "reported": 90, "busy": 5, "sum_over_processes": 100 * 0.07 * 15 / 8}
    )
    assert server["sum_over_processes"] == pytest.approx(100 * 0.5 / 10)


def test_every_claim_is_measured() -> None:
    found = metrics_of(tables_with())
    assert {claim.metric for claim in CLAIMS} <= set(found)
    without = metrics_of(tables_with(device=False))
    assert {claim.metric for claim in CLAIMS if claim.hardware == "cpu"} <= set(without)


def test_claims_are_judged_by_machine() -> None:
    here = results("cpu")
    verdicts = verdicts_of(CLAIMS, here, [results("cuda", "paper")], study.measured_metrics)
    found = {(verdict.claim.metric, verdict.subject): verdict for verdict in verdicts}
    assert found["worker_reported_to_busy", "NVIDIA H200"].verdict == HOLDS
    assert found["worker_largest_gpu_percent", "NVIDIA H200"].verdict == DIFFERS
    assert "measured on NVIDIA H200, 2026-11-22" in found["worker_reported_to_busy", "NVIDIA H200"].remark
    assert found["worker_self_play_to_next_longest", THIS_MACHINE].verdict == HOLDS
    assert NOT_TESTABLE not in {verdict.verdict for verdict in verdicts}
    alone = verdicts_of(CLAIMS, here, [], study.measured_metrics)
    assert {verdict.verdict for verdict in alone if verdict.claim.hardware == "gpu"} == {NOT_TESTABLE}


def test_a_run_says_of_itself_what_its_last_line_says(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text('{"moves": 1}\nwarning\n{"moves": 2}\nrlscope: 3 events\n')
    assert figures_in(log, "self_play.py") == {"moves": 2}
    log.write_text("nothing of that kind\n")
    with pytest.raises(IncompleteTraceError, match=r"log.txt: expected the line of JSON that self_play.py prints"):
        figures_in(log, "self_play.py")


@pytest.mark.parametrize(("device", "workers"), [("cpu", "2"), ("cuda", "16")])
@pytest.mark.parametrize("budget", ["smoke", "quick", "paper"])
def test_both_ways_play_the_same_games_and_are_recorded_whole(
    budget: str, device: str, workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, device)
    runs = CaseStudy(study.HERE, budget, tmp_path, repetitions=1).runs()
    assert [run.workload.name for run in runs] == list(study.FIGURES)
    given = [dict(zip(run.run.arguments[::2], run.run.arguments[1::2], strict=True)) for run in runs]
    assert [each.pop("--inference") for each in given] == list(study.FIGURES)
    assert given[0] == given[1]
    assert (given[0]["--workers"], given[0]["--device"]) == (workers, device)
    for run in runs:
        command = command_of(run.run)
        assert command[:6] == ["python", "-m", "rlscope", "record", "--force", "-o"]
        assert not {"--max-iterations", "--delay-iterations", "--seed", "--stop-after"} & set(command)
        assert Execution(run.run, tmp_path / "trace", 1.0, was_complete=False).unrecorded_iteration_s is None


def write_trace(directory: Path) -> None:
    """A worker that plays for 6 us and sends twice, and a training that received that before its phase."""
    writer = TraceWriter(directory)
    for pid, name, phase, span, boundary in (
        (1, "self_play_0", "self_play", (1000, 7000), "posix.write pipe:[7]"),
        (2, "training", "training", (8000, 9000), "posix.read pipe:[7]"),
    ):
        process = writer.process(pid=pid, name=name)
        thread = process.thread()
        thread.boundary(100, 150, Category.WAIT, boundary)
        thread.phase(span[0], span[1], phase)
        thread.boundary(9200, 9250, Category.WAIT, boundary)
        process.stop(10_000)
    writer.write_complete()
    samples = [(0, 0), (5000, 1), (10_000, 0.5)]
    lines = [HEADER, *(f"{time_ns},processes,{cores}," for time_ns, cores in samples)]
    (directory / UTILIZATION_NAME).write_text("\n".join(lines) + "\n")


def leave(planned: StudyRun) -> Execution:
    """What executing a run leaves: a worker that plays, and a training that waits for it, in a recorded trace."""
    execution = leave_run(planned, dict.fromkeys(RUN_COLUMNS, 2) | {"inference": planned.workload.name})
    write_trace(execution.trace)
    return execution


def test_tables_are_made_of_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "cpu")
    runs = CaseStudy(study.HERE, "smoke", tmp_path).runs()
    tables = tables_of([(planned, leave(planned)) for planned in runs])
    assert all(list(table.columns[:2]) == KEY for table in vars(tables).values())
    assert list(tables.runs["inference"]) == ["worker", "server"]
    worker, _ = (run for _, run in tables.of_each_run())
    edge = {"inference": "worker", "repetition": 0, "phase": "(none)"}
    assert worker.dependencies.to_dict("records") == [
        edge | {"process": "training", "on": "self_play_0", "count": 2, "wait_s": pytest.approx(1e-7)},
        edge | {"process": "self_play_0", "on": "training", "count": 2, "wait_s": pytest.approx(1e-7)},
    ]
    named = worker.phases[worker.phases["phase"] == "self_play"].iloc[0]
    assert (named["start_s"], named["end_s"], named["wall_s"]) == pytest.approx((1e-6, 7e-6, 6e-6))
    # One of two cores until 5 us, half a one after.
    cores = worker.utilization.set_index("start_s")["utilization"]
    assert cores[:4e-6].to_list() == pytest.approx([0.5] * len(cores[:4e-6]))
    assert cores[6e-6:].to_list() == pytest.approx([0.25] * len(cores[6e-6:]))
    assert worker.device_timeline.empty


def test_the_study_draws_and_judges_this_machine_and_those_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, "cpu")
    monkeypatch.setattr(other_machines, "MEASURED", str(tmp_path / "kept"))
    results().save(tmp_path / "kept" / "h200")

    def recorder(runs: Sequence[StudyRun]) -> Recorded:
        worker, server = runs
        recorded = Recorded({worker.directory: leave(worker)})
        recorded.failures[server.study_workload] = f"run {server.run.name} exited with status 1"
        return recorded

    outcome = study.run(CaseStudy(study.HERE, "smoke", tmp_path / "output", recorder=recorder))
    drawn = {path.stem for path in (tmp_path / "output").glob("fig*.png")}
    assert drawn == {"figure_8_scale_up", "figure_8_scale_up_h200", "fig_scale_up_server_h200"}
    assert all((tmp_path / "output" / f"{name}.csv").stat().st_size > 100 for name in drawn)
    assert outcome.missing == ["run self_play/server/repetition_0 exited with status 1"]
    page = (tmp_path / "output" / "index.html").read_text()
    assert "Measured on NVIDIA H200" in page and "upper bounds" in page
    assert "Where the time of each run went" in page and page.count(">page of the run</a>") == 1
    assert {verdict.subject for verdict in outcome.verdicts} == {THIS_MACHINE, "NVIDIA H200"}
    untested = {verdict.claim.metric for verdict in outcome.verdicts if verdict.verdict == NOT_TESTABLE}
    assert untested == {"server_waits_on_server_percent", "server_to_worker_batch", "server_to_worker_moves"}
    assert len(load(tmp_path / "output" / other_machines.MEASUREMENTS).tables.runs) == 1


def test_every_way_has_a_figure_and_is_on_both_kinds_of_hardware() -> None:
    entries = [(entry.hardware, entry.name) for entry in load_matrix(study.HERE / "runs.toml").entries]
    assert entries == [(hardware, name) for hardware in ("cpu", "gpu") for name in study.FIGURES]
