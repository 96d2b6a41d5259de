"""What becomes of runs, in turn and on Ray's nodes, as far as it needs no run."""

import dataclasses
import os
from pathlib import Path

import pytest

from experiments.harness.execute import Execution, Run, RunFailedError
from experiments.harness.progress import Progress, StudyRun, Workload
from experiments.harness.ray_scheduler import Request, check_answers, look_around
from rlscope.errors import UsageError


def study_run(tmp_path: Path, name: str, repetition: int, minutes: float = 1.0, study: str = "study") -> StudyRun:
    run = Run(f"E/{name}/{repetition}", Path("python"), tmp_path / "train.py", (), 0, 1, 1, "cpu", 1)
    workload = Workload(name, name, "E", "all")
    return StudyRun(study, workload, repetition, run, tmp_path / study / run.name, minutes, 2)


def ended(run: StudyRun, seconds: float) -> Execution:
    return Execution(run.run, run.directory / "trace", seconds, was_complete=False)


@pytest.fixture
def runs(tmp_path: Path) -> list[StudyRun]:
    (tmp_path / "train.py").touch()
    return [study_run(tmp_path, name, repetition) for repetition in range(3) for name in ("one", "two")]


def test_a_run_takes_as_long_as_those_of_its_study_did(tmp_path: Path, runs: list[StudyRun]) -> None:
    other = study_run(tmp_path, "slow", 0, minutes=10, study="other")
    progress = Progress([*runs, other])
    progress.started(runs[0])
    progress.done(runs[0], ended(runs[0], seconds=30))  # half as long as foreseen
    assert progress.seconds_left("study") == 5 * 30
    assert progress.seconds_left("other") == 10 * 30
    progress.started(runs[1])
    progress.failed(runs[1], RunFailedError("run failed"))
    assert progress.seconds_left() == 2 * 30 + 10 * 30


def test_a_page_that_is_drawn_early_says_from_how_much(runs: list[StudyRun]) -> None:
    progress = Progress(runs)
    assert progress.recorded.provisional_text(runs) == [
        "Provisional, n = 0: 6 of 6 runs are still to be recorded. Then this is drawn again."
    ]
    for run in runs[:3]:
        progress.started(run)
        progress.done(run, ended(run, seconds=30))
    assert progress.recorded.provisional_text(runs)[0].startswith("Provisional, n = 1 to 2: 3 of 6 runs")
    progress.started(runs[3])
    progress.failed(runs[3], RunFailedError("run failed"))
    progress.started(runs[4])
    progress.done(runs[4], ended(runs[4], seconds=30))
    assert progress.recorded.provisional_text(runs) == []


def test_the_time_that_is_left_is_that_of_runs_so_far(runs: list[StudyRun]) -> None:
    progress = Progress(runs)
    assert progress.seconds_left() == 6 * 60
    progress.started(runs[0])
    progress.done(runs[0], ended(runs[0], seconds=30))
    assert progress.seconds_left() == 5 * 30
    progress.slots = 2
    assert progress.seconds_left() == 5 * 30 / 2
    progress.started(runs[1])
    progress.failed(runs[1], RunFailedError("run failed"))  # with its two other repetitions
    assert progress.seconds_left() == 2 * 30 / 2


def test_a_workload_that_has_failed_is_reported_once_and_keeps_what_it_has(
    tmp_path: Path, runs: list[StudyRun], capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(runs)
    for run in (runs[0], runs[2], runs[4]):  # the repetitions of "one"
        progress.started(run)
    progress.done(runs[0], ended(runs[0], 1))
    progress.failed(runs[2], RunFailedError("run E/one/1 failed"))
    progress.failed(runs[4], RunFailedError("run E/one/2 failed"))
    assert [run.run.name for run, _ in progress.recorded.executed_of(runs)] == ["E/one/0"]
    assert progress.recorded.failures_of(runs) == ["run E/one/1 failed"]
    assert progress.recorded.is_open(runs[1])
    elsewhere = study_run(tmp_path, "one", 0, study="other")  # the same workload of another study
    assert progress.recorded.is_open(elsewhere)
    assert "[3/6" in capsys.readouterr().err


def test_a_node_that_sees_other_files_is_found(tmp_path: Path, runs: list[StudyRun]) -> None:
    (tmp_path / ".lock").write_text("process 7 on red\n")
    python = tmp_path / "python"
    python.touch()
    runs = [dataclasses.replace(run, run=dataclasses.replace(run.run, python=python)) for run in runs]
    request = Request.of(runs, tmp_path)
    assert isinstance(look_around(request), list)

    assert "give way to everything else" in str(look_around(dataclasses.replace(request, niceness=os.nice(0) - 1)))
    python.unlink()
    assert str(look_around(request)).startswith(f"expected {python}, found nothing there. Nodes need a file system")
    (tmp_path / ".lock").write_text("process 7 on blue\n")
    assert "found another one's" in str(look_around(request))
    (tmp_path / ".lock").unlink()
    assert "No such file" in str(look_around(request))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1", "nonsense", "auto:"])
def test_a_cluster_that_is_not_there_is_said_at_once(address: str) -> None:
    with pytest.raises(UsageError, match=f"expected a Ray cluster at --ray-address {address}, as HOST:PORT, found: "):
        check_answers(address)
