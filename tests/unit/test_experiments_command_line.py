"""A case study as a command: what it says before anything is run."""

from pathlib import Path

import pytest

from experiments.command_line import Outcome, command_line


def test_an_output_that_cannot_be_written_is_one_line_before_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(budget: str, output: Path) -> Outcome:
        raise AssertionError("nothing is run")

    (tmp_path / "file").touch()
    monkeypatch.setattr("sys.argv", ["study", "--output", str(tmp_path / "file" / "results")])
    assert command_line(None, tmp_path, run) == 2
    said = capsys.readouterr().err
    assert said.startswith("rlscope: error: expected to write to ")
    assert "Not a directory" in said
    assert said.count("\n") == 1


def test_the_folder_of_the_results_is_made_and_nothing_is_left_in_it_by_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def run(budget: str, output: Path) -> Outcome:
        seen.append((budget, list(output.iterdir())))
        return Outcome([])

    monkeypatch.setattr("sys.argv", ["study", "--budget", "smoke"])
    assert command_line(None, tmp_path / "a" / "b", run) == 0
    assert seen == [("smoke", [])]
