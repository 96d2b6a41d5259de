"""Two processes that share a device, one that generates and one that trains: what a recording knows of them."""

import json
from pathlib import Path

import pytest
from framework_runs import WORKLOADS
from recording import record

SIZE = ("--device", "cpu", "--steps", "4", "--tokens", "6", "--prompts", "4", "--width", "16", "--layers", "1")
TRAINER = {"wait_for_batch", "reward", "update_actor", "gather", "transfer"}
ROLLOUT = {"generate", "pause", "load"}


@pytest.mark.parametrize("way", [("--weights", "ipc"), ("--weights", "pipe", "--overlap")], ids=["ipc", "overlap"])
def test_both_processes_and_their_waits_are_known(tmp_path: Path, way: tuple[str, ...]) -> None:
    recording = record(tmp_path / "trace", WORKLOADS / "colocated.py", *SIZE, *way)
    assert recording.returncode == 0, recording.stderr
    watched = json.loads(recording.stdout)
    assert set(watched["trainer"]) == TRAINER and set(watched["rollout"]) == ROLLOUT
    found = recording.analysis
    assert found["complete"] is True, found["why"]
    operations: dict[str, set[str]] = {}
    for row in found["breakdown"]:
        operations.setdefault(row["process"], set()).add(row["operation"])
    trainer, rollout = (
        next(process for process, names in operations.items() if operation in names)
        for operation in ("update_actor", "generate")
    )
    assert trainer != rollout
    assert operations[trainer] >= TRAINER and operations[rollout] >= ROLLOUT
    assert {(row["process"], row["on"]) for row in found["dependencies"]} >= {(trainer, rollout), (rollout, trainer)}
    assert (found["iterations"], found["timesteps"]) == (4, 16)
