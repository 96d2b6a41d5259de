"""All studies at once: the order of their runs, and the table of how far each is."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from small_study import Matrix

from experiments.artifacts.index_page import disturbed, started_page, state_table
from experiments.artifacts.order import in_order
from experiments.artifacts.painter import Drawing, Found, stand_back
from experiments.artifacts.study import PlannedStudy, Study
from experiments.command_line import Outcome
from experiments.harness.case_study import CaseStudy
from experiments.harness.execute import Execution, RunFailedError
from experiments.harness.progress import Progress, Recorded, StudyRun
from experiments.harness.provenance import provenance
from rlscope.errors import UsageError


def no_drawing(case: CaseStudy) -> Outcome:
    raise UsageError(f"nothing draws {case.folder}")


@pytest.fixture
def studies(tmp_path: Path) -> list[PlannedStudy]:
    """Two studies of two workloads with three repetitions; the second one measures when it is drawn."""
    matrices = [Matrix(tmp_path, {"one": "", "two": ""}, 3, name) for name in ("first", "second")]
    return [
        PlannedStudy(
            Study(matrix.folder.name.title(), matrix.folder, no_drawing, measures=matrix.folder.name == "second"),
            CaseStudy(matrix.folder, "quick", matrix.output / matrix.folder.name),
        )
        for matrix in matrices
    ]


def end(progress: Progress, run: StudyRun, seconds: float = 10.0) -> None:
    progress.started(run)
    progress.done(run, Execution(run.run, run.directory / "trace", seconds, was_complete=False))


def found(study: PlannedStudy, progress: Progress, is_calibrated: bool = False) -> Found:
    recorded = Recorded(dict(progress.recorded.executed), dict(progress.recorded.failures))
    return Found(recorded, study.repetitions_ended(recorded), is_calibrated)


def test_first_repetitions_of_all_studies_come_first(studies: list[PlannedStudy]) -> None:
    runs = [run for study in studies for run in study.runs]
    order = in_order(runs)
    places = [(run.repetition, run.study) for run in order]
    assert places == [(repetition, study) for repetition in range(3) for study in ("first", "second") for _ in range(2)]
    assert in_order(runs) == order
    assert set(order) == set(runs)
    assert [run.study for run in in_order(list(reversed(runs)))][:2] == ["second", "second"]


def test_the_order_within_a_repetition_is_not_that_of_the_file(tmp_path: Path) -> None:
    matrix = Matrix(tmp_path, {f"workload_{number}": "" for number in range(8)}, 1)
    runs = CaseStudy(matrix.folder, "quick", matrix.output).runs()
    assert in_order(runs) == in_order(runs) != runs
    assert set(in_order(runs)) == set(runs)


def test_the_table_says_how_far_each_study_is(studies: list[PlannedStudy]) -> None:
    first, second = studies
    progress = Progress([run for study in studies for run in study.runs])
    drawings: dict[str, Drawing] = {}

    def states() -> list[tuple[str, str, str]]:
        table = state_table(studies, progress, drawings)
        return list(table[["state", "runs", "figures"]].itertuples(index=False, name=None))

    assert states() == [("waiting", "0 of 6", ""), ("waiting", "0 of 6", "")]
    progress.started(first.runs[0])
    assert states()[0] == ("running", "0 of 6", "")
    progress.done(first.runs[0], Execution(first.runs[0].run, first.runs[0].directory, 10, was_complete=False))
    end(progress, first.runs[1])
    drawings["First"] = Drawing(found(first, progress), Outcome([], [], []))
    assert states()[0] == ("waiting for its next runs", "2 of 6", "n = 1, uncorrected")
    assert list(state_table(studies, progress, drawings)["left"]) == ["40 s", "60 s"]  # runs of 10 s each
    for run in first.runs[2:]:
        end(progress, run)
    assert states()[0] == ("recorded, is being drawn", "6 of 6", "n = 1, uncorrected")
    drawings["First"] = Drawing(found(first, progress), Outcome([], [], []))
    assert states()[0][:2] == ("done", "6 of 6") and states()[0][2].startswith("n = 3")

    end(progress, second.runs[0])
    progress.started(second.runs[1])
    progress.failed(second.runs[1], RunFailedError("run failed"))
    assert states()[1] == ("waiting for its next runs, 1 workload failed", "4 of 6", "")
    for run in second.runs[2::2]:
        end(progress, run)
    assert states()[1] == ("recorded, is drawn last, 1 workload failed", "6 of 6", "")
    drawings["Second"] = Drawing(found(second, progress), None, "a trace is damaged")
    assert states()[1] == ("could not be drawn, 1 workload failed", "6 of 6", "")


def test_a_page_that_is_not_there_has_no_link(studies: list[PlannedStudy], tmp_path: Path) -> None:
    progress = Progress([run for study in studies for run in study.runs])
    drawings = {"Second": Drawing(found(studies[1], progress), Outcome([], [], []))}
    started_page("Runs are being recorded.", "quick", studies, progress, drawings).write(tmp_path / "index.html")
    text = (tmp_path / "index.html").read_text()
    assert 'href="first/' not in text
    assert 'href="second/index.html"' in text
    assert "Not drawn yet." in text


def test_repetitions_that_took_unlike_times_are_said(studies: list[PlannedStudy]) -> None:
    progress = Progress(studies[0].runs)
    for run, seconds in zip(studies[0].runs, (56, 10, 100, 12, 102, 14), strict=True):
        end(progress, run, seconds)
    (sentence,) = disturbed(studies[0], progress.recorded)
    assert sentence.startswith("The repetitions of one of E took 56 s to 102 s: ")


def test_what_is_drawn_beside_the_runs_names_the_command_of_the_user() -> None:
    command = ["python", "scripts/artifacts.py", "--budget", "quick"]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), stand_back, (command,)) as pool:
        origin = pool.submit(provenance, "quick", {}, []).result()
    assert origin.command == "python scripts/artifacts.py --budget quick"
