"""All studies at once: pages are there from the beginning, an interruption leaves them whole, a second call goes on."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import is_alive, until
from small_study import Matrix

TWO_STUDIES = Path(__file__).resolve().parents[1] / "scripts" / "two_studies.py"


def make_artifacts(matrices: list[Matrix], output: Path) -> "subprocess.Popen[str]":
    folders = [str(matrix.folder) for matrix in matrices]
    command = [sys.executable, str(TWO_STUDIES), *folders, str(output)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_pages_are_there_from_the_beginning_and_a_second_call_goes_on(tmp_path: Path) -> None:
    studies = [
        Matrix(tmp_path, {"one": "loop.run('one', SECONDS)", "two": "loop.run('two', SECONDS)"}, 2, name)
        for name in ("first", "second")
    ]
    output = tmp_path / "output"
    index, of_first = output / "index.html", output / "first" / "index.html"
    called = make_artifacts(studies, output)
    until(index.exists)
    assert not of_first.exists()
    assert "Runs are being recorded: 0 of 8 have ended" in index.read_text()
    assert index.read_text().count("<td>waiting</td>") == 2
    until(of_first.exists)
    assert re.search("Provisional, n = 1: [12] of 4 runs are still to be recorded", of_first.read_text())
    until(lambda: bool(studies[1].started()))
    begun = studies[0].counts()
    assert begun["one/0"] == begun["two/0"] == 1
    # The second repetition comes after all first ones.
    assert len(begun) == 2 or studies[1].counts().keys() >= {"one/0", "two/0"}
    called.send_signal(signal.SIGINT)
    _, said = called.communicate(timeout=60)
    assert called.returncode == 130, said
    assert "Traceback" not in said
    assert not any(is_alive(pid) for study in studies for _, pid in study.started())
    text = index.read_text()
    assert "Interrupted: " in text and "The same command goes on from there" in text
    assert "running" not in text
    assert "<td>n = 1" in text

    before = studies[0].counts()
    again = make_artifacts(studies, output)
    _, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    text = index.read_text()
    assert "All studies are done" in text
    assert text.count("<td>done</td>") == 2 and text.count("<td>4 of 4</td>") == 2 and text.count("<td>n = 2") == 2
    assert "Provisional" not in of_first.read_text() and "Drawn from 4 runs" in of_first.read_text()
    again_begun = studies[0].counts() - before
    assert again_begun.keys() <= {"one/1", "two/1"}  # one that had ended before the interruption is not begun again
    assert studies[0].counts().keys() == {"one/0", "two/0", "one/1", "two/1"}


@pytest.mark.slow
def test_a_study_that_lost_a_workload_is_drawn_with_the_rest_and_said_to_be_incomplete(tmp_path: Path) -> None:
    fails = {"good": "loop.run('good', SECONDS / 10)", "fails": "raise SystemExit('no such environment')"}
    studies = [Matrix(tmp_path, fails, 1, "first"), Matrix(tmp_path, {"all": fails["fails"]}, 1, "second")]
    called = make_artifacts(studies, tmp_path / "output")
    _, said = called.communicate(timeout=120)
    assert called.returncode == 3, said
    text = (tmp_path / "output" / "index.html").read_text()
    assert text.count("done, 1 workload failed") == 2
    assert "no such environment" in (tmp_path / "output" / "first" / "index.html").read_text()


@pytest.mark.slow
def test_the_first_study_is_drawn_before_anything_is_calibrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A calibration takes two minutes. Here it is refused at once, for a folder has its name; the rest goes on."""
    (tmp_path / "rlscope" / "calibration.json").mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = {"one": "loop.run('one', SECONDS / 10)"}
    studies = [Matrix(tmp_path, code, 1, name) for name in ("first", "overhead_correction")]
    called = make_artifacts(studies, tmp_path / "output")
    _, said = called.communicate(timeout=120)
    assert called.returncode == 0, said
    beginnings = ("[1/2", "rlscope: measuring", "rlscope: studies go on with uncorrected times", "[2/2")
    places = [said.index(beginning) for beginning in beginnings]
    assert places == sorted(places)
    text = (tmp_path / "output" / "index.html").read_text()
    assert text.count("<td>done</td>") == 2
    assert text.count("<td>n = 1, uncorrected</td>") == 2
    # The first study was drawn before it was known that there is no calibration, which lies between the two runs.
    drawn = (tmp_path / "output" / "first" / "index.html").stat().st_mtime
    (manifest,) = (tmp_path / "output" / "overhead_correction").glob("runs/*/*/*/manifest.json")
    assert drawn < manifest.stat().st_mtime
