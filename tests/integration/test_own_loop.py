"""Training loops of one's own: limits that count iterations, and what lies between their stages."""

from pathlib import Path

import pytest
from recording import record

NOT_REPORTED = "rlscope: no iteration was reported in 1,000 steps of the environment, and "
HOW = "call rlscope.report_progress(timesteps=...) once per iteration of your loop"


@pytest.mark.parametrize(
    ("options", "recorded"),
    [
        (("--delay-iterations", "10"), 30),
        (("--max-iterations", "5"), 5),
        (("--delay-iterations", "10", "--max-iterations", "5"), 5),
    ],
)
def test_limits_hold_for_a_loop_that_reports_progress(options: tuple[str, ...], recorded: int, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "own_loop.py", 40, "report", options=options)
    assert recording.returncode == 0, recording.stderr
    assert recording.analysis["iterations"] == recorded
    assert recording.main_sweep()["events"]["operation"] == 2 * recorded
    assert "no iteration was reported" not in recording.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--delay-iterations", "1"), "--delay-iterations"),
        (("--max-iterations", "5"), "--max-iterations"),
        (("--delay-iterations", "1", "--max-iterations", "5"), "--delay-iterations and --max-iterations"),
    ],
)
def test_a_limit_that_nothing_counts_towards_is_said_before_the_job_is_over(
    options: tuple[str, ...], named: str, tmp_path: Path
) -> None:
    recording = record(tmp_path / "trace", "own_loop.py", 1500, options=options)
    early, _, late = recording.stderr.partition("done\n")
    assert early == f"{NOT_REPORTED}{named} counts iterations: {HOW}\n"
    if "--delay-iterations" in options:
        assert "nothing was recorded: process " in late
        assert f"recording was to start after 1 iteration, but 0 were reported; {HOW}" in late
    else:
        assert f"No iteration was reported, so --max-iterations ended nothing: {HOW}." in late


def test_a_sample_of_iterations_that_nobody_reports_is_said_before_the_job_is_over(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "own_loop.py", 1500, options=("--every", "5"))
    early, _, late = recording.stderr.partition("done\n")
    assert early.endswith(f"{NOT_REPORTED}--every counts iterations: {HOW}\n")
    assert "no iteration was reported" not in late


def test_updates_that_come_late_are_waited_for(tmp_path: Path) -> None:
    """PyTorch's optimizers end iterations, and a buffer may be filled with thousands of steps before."""
    script = tmp_path / "train.py"
    script.write_text(
        "import gymnasium, torch\n"
        "env = gymnasium.make('CartPole-v1')\n"
        "weight = torch.zeros(1, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([weight], 0.1)\n"
        "env.reset()\n"
        "for step in range(2000):\n"
        "    *_, info = env.step(0)\n"
        "    if step % 20 == 0: env.reset()\n"
        "    if step > 1500: optimizer.step()\n"
    )
    recording = record(tmp_path / "trace", script, options=("--max-iterations", "5"))
    assert "iteration" not in recording.stderr
    assert recording.analysis["iterations"] == 5


def test_steps_of_optimizers_count_as_well(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, torch\n"
        "weight = torch.zeros(1, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([weight], 0.1)\n"
        "for _ in range(1100):\n"
        "    optimizer.step()\n"
        "print('done', file=sys.stderr, flush=True)\n"
    )
    recording = record(tmp_path / "trace", str(script), options=("--max-iterations", "5"))
    early = recording.stderr.partition("done\n")[0]
    assert "no iteration was reported in 1,000 steps of optimizers, and --max-iterations counts iterations" in early


def test_without_a_limit_nothing_is_said_of_iterations(tmp_path: Path) -> None:
    assert "iteration" not in record(tmp_path / "trace", "own_loop.py", 1500).stderr


def test_sleep_between_stages_is_of_the_loop(tmp_path: Path) -> None:
    """It is named by its function, and is not called starting up."""
    recording = record(tmp_path / "trace", "own_loop.py", 100, "report", "sleep")
    slept_s = sum(wait["wait_s"] for wait in recording.analysis["waits"] if wait["function"] == "time.sleep")
    assert slept_s >= 1
    slept = [row for row in recording.analysis["account"] if row["on"] == "time.sleep"]
    assert {row["cause"] for row in slept} == {"waiting"}
    assert sum(row["seconds"] for row in slept) == pytest.approx(slept_s, rel=0.01)
