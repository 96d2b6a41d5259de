"""GRPO on a small language model: each arrangement recorded, by our own file and by TRL; and it learns."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import tomllib
from framework_runs import PROGRAMS, WORKLOADS, run_in
from recording import Recording

SMALL = ("--prompts", "4", "--group", "4", "--tokens", "24", "--iterations", "3")
STUDY = WORKLOADS.parent / "llm_rl"
#: Each process that has PyTorch says at its end with how many threads it computed.
TELL_THREADS = """
import atexit, sys
atexit.register(lambda: "torch" in sys.modules and print("threads", sys.modules["torch"].get_num_threads(), flush=True))
"""
TRAINED = {"advantages", "logprobs", "update_actor", "gather", "load"}


def result_of(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(next(line for line in printed.splitlines() if line.startswith('{"mode"')))
    return found


def test_the_reward_rises() -> None:
    finished = run_in("pytorch", WORKLOADS / "grpo.py", "--iterations", "25", "--learning-rate", "0.003")
    assert finished.returncode == 0, finished.stderr
    rewards = [iteration["reward"] for iteration in result_of(finished.stdout)["iterations"]]
    assert fmean(rewards[:3]) < 0.25
    assert fmean(rewards[-3:]) > 0.4


@pytest.mark.slow
def test_lengths_of_answers_stay_what_they_are_in_the_study() -> None:
    """A rate of 0.00001 changes by a third how often such a model ends its answer, in two updates."""
    with (STUDY / "runs.toml").open("rb") as file:
        arguments = tomllib.load(file)["group"][0]["arguments"]
    rate = arguments[arguments.index("--learning-rate") + 1]
    finished = run_in("pytorch", PROGRAMS / "grpo_endings.py", rate)
    assert finished.returncode == 0, finished.stderr
    before, *_, after = json.loads(finished.stdout)
    assert after == pytest.approx(before, rel=0.01)


@pytest.mark.parametrize("mode", ["synchronous", "overlapped", "agent"])
def test_no_process_computes_with_threads_that_wait_for_each_other(mode: str, tmp_path: Path) -> None:
    """Beside two busy programs on two cores, such threads made agents take over four times as much of a processor."""
    (tmp_path / "sitecustomize.py").write_text(TELL_THREADS)
    variables = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "PYTHONPATH": str(tmp_path)}
    finished = run_in("pytorch", WORKLOADS / "grpo.py", "--mode", mode, *SMALL, **variables)  # type: ignore[arg-type]
    assert finished.returncode == 0, finished.stderr
    told = [line for line in finished.stdout.splitlines() if line.startswith("threads ")]
    assert told == ["threads 1"] * (2 if mode == "overlapped" else 1)


@pytest.mark.parametrize(
    ("mode", "staleness"), [("synchronous", "1"), ("overlapped", "1"), ("agent", "0"), ("agent", "1")]
)
def test_each_arrangement_recorded(mode: str, staleness: str, record_pytorch: Callable[..., Recording]) -> None:
    recording = record_pytorch(WORKLOADS / "grpo.py", "--mode", mode, "--staleness", staleness, *SMALL)
    result = result_of(recording.stdout)
    assert (result["mode"], len(result["iterations"])) == (mode, 3)
    for version, iteration in enumerate(result["iterations"]):
        samples = iteration["samples"]
        kept = [sample for sample in samples if not sample["discarded"]]
        assert len(kept) >= 8 if mode == "agent" else len(kept) == 16
        if (mode, staleness) != ("agent", "1"):  # else a sample waits for the others of its prompt, and gets older
            assert all(version - sample["version"] <= int(staleness) for sample in kept)
        assert all(version - sample["version"] > int(staleness) for sample in samples if sample["discarded"])
        assert set(iteration["operations"]) >= TRAINED
    assert (recording.analysis["iterations"], recording.analysis["timesteps"]) == (3, 48)
    for stage in ("inference", "backpropagation", "simulation", "synchronisation"):
        assert recording.seconds(stage=stage) > 0, stage
    assert recording.seconds(operation="decode") > recording.seconds(operation="prefill") > 0
    processes = {row["process"] for row in recording.analysis["breakdown"] if row["operation"] == "decode"}
    assert processes == ({"rollout"} if mode == "overlapped" else {"main"})
    if mode == "overlapped":
        assert recording.seconds(operation="pause") > 0


def test_trl_trains_on_the_same_task(record_pytorch: Callable[..., Recording]) -> None:
    recording = record_pytorch(WORKLOADS / "grpo_trl.py", *SMALL)
    rewards = result_of(recording.stdout)["rewards"]
    assert len(rewards) == 3 and all(0 < reward < 1 for reward in rewards)
