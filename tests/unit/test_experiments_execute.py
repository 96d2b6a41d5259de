"""One run: its environment, its log, its manifest; when it is skipped and when it has failed."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from experiments import execute as module
from experiments.execute import Run, RunFailedError, command_of, environment_of, execute


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run that leaves a file in its trace, without a recorder."""
    script = tmp_path / "train.py"
    script.write_text("import sys, pathlib; pathlib.Path(sys.argv[1]).open('a').write('x'); print('trained')")
    monkeypatch.setattr(module, "command_of", lambda run, trace: [sys.executable, str(run.script), *run.arguments])
    return Run(
        "walker/ppo/repetition_0",
        Path(sys.executable),
        script,
        (str(tmp_path / "calls"),),
        1,
        2,
        threads=1,
        device="cpu",
        time_limit_s=60,
    )


def calls(run: Run) -> int:
    return len(Path(run.arguments[0]).read_text())


def test_a_run_leaves_its_log_and_its_manifest(tmp_path: Path, run: Run) -> None:
    execution = execute(run, tmp_path / "out")
    assert not execution.was_complete
    assert (tmp_path / "out" / "log.txt").read_text() == "trained\n"
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["exit_status"] == 0
    assert manifest["environment"]["OMP_NUM_THREADS"] == "1"
    assert manifest["description"]["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"command", "seconds", "started", "machine"} <= set(manifest)


def test_a_complete_run_is_skipped(tmp_path: Path, run: Run) -> None:
    execute(run, tmp_path / "out")
    assert execute(run, tmp_path / "out").was_complete
    assert calls(run) == 1


def test_a_run_that_is_described_otherwise_is_repeated(tmp_path: Path, run: Run) -> None:
    execute(run, tmp_path / "out")
    assert not execute(dataclasses.replace(run, max_iterations=3), tmp_path / "out").was_complete
    run.script.write_text(run.script.read_text() + "\n")
    assert not execute(run, tmp_path / "out").was_complete
    assert calls(run) == 3


def test_a_failed_run_shows_the_end_of_its_log_and_is_repeated(tmp_path: Path, run: Run) -> None:
    run.script.write_text("print('line\\n' * 50); raise SystemExit('no such environment')")
    for _ in range(2):
        with pytest.raises(RunFailedError) as raised:
            execute(run, tmp_path / "out")
        message = str(raised.value)
        assert "run walker/ppo/repetition_0 exited with status 1" in message
        assert message.endswith("no such environment")
        assert len(message.splitlines()) == 21
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["complete"] is False


def test_a_run_over_its_time_limit_has_failed(tmp_path: Path, run: Run) -> None:
    run.script.write_text("import time; time.sleep(600)")
    with pytest.raises(RunFailedError, match=r"was ended by SIGTERM \(limit 0\.2 s\)"):
        execute(dataclasses.replace(run, time_limit_s=0.2), tmp_path / "out")


def test_nothing_unstated_reaches_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    environment = environment_of(dataclasses.replace(run, threads=2))
    assert "PYTHONPATH" not in environment
    assert environment["OMP_NUM_THREADS"] == "2"
    assert environment["CUDA_VISIBLE_DEVICES"] == ""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert environment_of(run)["CUDA_VISIBLE_DEVICES"] == ""
    assert environment_of(dataclasses.replace(run, device="cuda"))["CUDA_VISIBLE_DEVICES"] == "3"


def test_the_command_records_the_window_of_the_run(tmp_path: Path) -> None:
    run = Run(
        "name",
        Path("python"),
        tmp_path / "train.py",
        ("--algo", "ppo"),
        3,
        10,
        threads=1,
        device="cpu",
        time_limit_s=60,
    )
    command = command_of(run, tmp_path / "trace")
    assert command[:4] == ["python", "-m", "rlscope", "record"]
    assert command[command.index("--delay-iterations") + 1] == "3"
    assert command[command.index("--max-iterations") + 1] == "10"
    assert command[command.index("--") + 1 :] == ["python", str(tmp_path / "train.py"), "--algo", "ppo"]
