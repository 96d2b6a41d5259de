"""`make test-others` tells what recording changes from what is flaky, on suites whose outcomes are known."""

import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).resolve().parents[1] / "others"

TESTS = """
import os, pathlib
def test_same(): pass
def test_fails_at_first():
    place = pathlib.Path(__file__).with_name("was_here")
    was_here = place.exists()
    place.touch()
    assert was_here
def test_fails_recorded(): assert {condition}
"""
TRAINING = """
import os, torch
torch.save({{"same": torch.ones(3), "weights": torch.tensor({value})}}, "model.pt")
"""
PROGRAM = """
import os
def step(): pass
def seen(): pass
for _ in range(2 + ({condition})): step()
seen()
print("same")
print("{{}}".format({condition}))
"""
IS_RECORDED = '"RLSCOPE_TRACE" in os.environ'


def run_driver(folder: Path, condition: str, value: str) -> "subprocess.CompletedProcess[str]":
    (folder / "test_known.py").write_text(TESTS.format(condition=condition))
    (folder / "train.py").write_text(TRAINING.format(value=value))
    table = folder / "suites.toml"
    table.write_text(
        f"[suites.tests]\nenvironment = '{sys.prefix}'\npytest = ['{folder}/test_known.py']\nci = true\n"
        f"[suites.training]\nenvironment = '{sys.prefix}'\nscript = ['{folder}/train.py']\n"
        "saved = ['*.pt']\nci = true\n"
    )
    return compared(table)


def compared(table: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(DRIVER), "--table", str(table), "--archives", str(table.with_name("archives"))]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)


@pytest.mark.slow
def test_what_recording_changes_is_named(tmp_path: Path) -> None:
    finished = run_driver(tmp_path, f"not {IS_RECORDED}", f"float({IS_RECORDED})")
    assert finished.returncode == 1
    assert "test_known.test_fails_recorded: passed plain, failure recorded" in finished.stdout
    assert "differs: training: *.pt 0 .weights: " in finished.stdout
    assert "test_same" not in finished.stdout and ".same" not in finished.stdout
    assert "tests: expected the same with recording, found 1 that differ" in finished.stdout


@pytest.mark.slow
def test_what_differs_between_plain_runs_is_flaky(tmp_path: Path) -> None:
    finished = run_driver(tmp_path, "True", "1.0")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "test_known.test_fails_at_first\n" in finished.stdout.partition("flaky without recording: ")[2]
    assert "differs:" not in finished.stdout
    assert finished.stdout.endswith("recording changed nothing in 2 suites\n")


@pytest.mark.slow
def test_a_suite_that_cannot_run_is_no_evidence(tmp_path: Path) -> None:
    finished = run_driver(tmp_path, "True", "no_such_name")
    assert finished.returncode == 1
    assert "training: expected outcomes of *.pt, found none" in finished.stdout


@pytest.mark.parametrize("condition", [IS_RECORDED, "False"])
def test_what_a_program_prints_under_a_tool_and_how_often_its_functions_ran_is_compared(
    condition: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(condition=condition))
    table = tmp_path / "suites.toml"
    table.write_text(
        f"[suites.known]\nenvironment = '{sys.prefix}'\nprogram = 'program.py'\nci = true\n"
        "script = ['-m', 'cProfile', '-o', 'saved/calls.prof', 'program.py']\nsaved = ['saved/calls.prof']\n"
    )
    finished = compared(table)
    differing = [line.split(": ")[2] for line in finished.stdout.splitlines() if line.startswith("differs: ")]
    is_equal = condition == "False"
    assert differing == ([] if is_equal else ["line 2", "saved/calls.prof 0 step in line 3"])
    assert finished.returncode == (0 if is_equal else 1)
