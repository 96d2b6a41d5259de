"""A case study as a command: what it says before anything is run, and how it ends."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import CHECKOUT
from experiments.command_line import Outcome, command_line, exit_status
from experiments.harness.case_study import CaseStudy
from experiments.harness.lock import LOCK, locked
from rlscope.errors import UsageError

FOLDER = CHECKOUT / "experiments" / "algorithm_choice"


def runs_nothing(study: CaseStudy) -> Outcome:
    raise AssertionError("nothing is run")


def test_an_output_that_cannot_be_written_is_one_line_before_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("sys.argv", ["study", "--output", str(tmp_path / "file" / "results")])
    assert command_line(None, FOLDER, runs_nothing) == 2
    said = capsys.readouterr().err
    assert said.startswith("rlscope: error: expected to write to ")
    assert "Not a directory" in said
    assert said.count("\n") == 1


def test_the_folder_of_the_results_is_made_and_only_a_lock_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def run(study: CaseStudy) -> Outcome:
        seen.append((study.budget, study.repetitions_of_each, [path.name for path in study.output.iterdir()]))
        return Outcome([], [], [])

    monkeypatch.setattr("sys.argv", ["study", "--budget", "smoke", "--repetitions", "7", "--output", f"{tmp_path}/a/b"])
    assert command_line(None, FOLDER, run) == 0
    assert seen == [("smoke", 7, [LOCK])]
    assert '"claims": []' in (tmp_path / "a" / "b" / "claims.json").read_text()


def test_two_commands_into_one_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = f"""
import sys, time
sys.path.append({str(CHECKOUT)!r})
from pathlib import Path
from experiments.harness.lock import locked
with locked(Path({str(tmp_path)!r})):
    print("locked", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "locked\n"
        assert exit_status(lambda: pytest.fail("nothing is run"), [tmp_path]) == 2
        said = capsys.readouterr().err
        assert f"found process {other.pid} on {platform.node()}. Wait for its end, or choose another --output" in said
        assert said.count("\n") == 1
        other.kill()
    with locked(tmp_path):  # a lock ends with its holder
        assert f"process {os.getpid()} on" in (tmp_path / LOCK).read_text()


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_repetitions_are_a_number(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["study", "--repetitions", number])
    with pytest.raises(SystemExit, match="2"):
        command_line(None, FOLDER, runs_nothing)


def test_a_study_that_cannot_run_ends_in_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(study: CaseStudy) -> Outcome:
        raise errors.pop()

    errors: list[Exception] = [RuntimeError("a crash"), UsageError("expected a simulator, found none")]
    monkeypatch.setattr("sys.argv", ["study", "--output", str(tmp_path)])
    assert command_line(None, FOLDER, run) == 2
    assert capsys.readouterr().err == "rlscope: error: expected a simulator, found none\n"
    with pytest.raises(RuntimeError, match="a crash"):
        command_line(None, FOLDER, run)


def test_an_interruption_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> Outcome:
        raise KeyboardInterrupt

    assert exit_status(run, [tmp_path]) == 130
    assert "The same command goes on" in capsys.readouterr().err
