"""Loops without a library: steps of environments are timesteps, and an update after them ends an iteration."""

import json
from pathlib import Path

import pytest
from recording import Recording, call_here, record

from rlscope.monitor.windows.run_windows import begun_windows

LOOP = """
import sys
import gymnasium as gym, numpy as np, rlscope, torch

kind = sys.argv[1]
if kind == "vector":
    envs = gym.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
else:
    envs = gym.make("CartPole-v1")
envs.reset(seed=1)
actions = np.zeros(4, int) if kind == "vector" else 0
policy, value = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
optimizers = [torch.optim.SGD(each.parameters(), lr=0.01) for each in (policy, value)]

def rollouts():
    steps = 0
    for iteration in range(int(sys.argv[2])):
        for _ in range(3 + iteration % 2):  # as episodes end
            with torch.no_grad():
                policy(torch.zeros(4))
            _, _, ends, cuts, _ = envs.step(actions)
            steps += 4 if kind == "vector" else 1
            if kind != "vector" and (ends or cuts):
                envs.reset()
        yield steps

for steps in rollouts():
    for _ in range(2):
        for network, optimizer in zip((policy, value), optimizers):
            optimizer.zero_grad()
            network(torch.ones(4)).sum().backward()
            optimizer.step()
    if kind == "report":
        rlscope.report_progress(timesteps=10 * steps)
print(steps)
"""


def run(tmp_path: Path, kind: str, iterations: int, *options: str) -> Recording:
    script = tmp_path / "train.py"
    script.write_text(LOOP)
    recording = record(tmp_path / "trace", script, kind, iterations, options=options)
    assert recording.returncode == 0, recording.stderr
    return recording


@pytest.mark.parametrize("kind", ["scalar", "vector"])
def test_iterations_and_timesteps_are_those_of_the_program(kind: str, tmp_path: Path) -> None:
    recording = run(tmp_path, kind, 100)
    analysis = recording.analysis
    assert (analysis["iterations"], analysis["timesteps"]) == (100, int(recording.stdout))


def test_what_the_program_reports_has_precedence(tmp_path: Path) -> None:
    recording = run(tmp_path, "report", 50)
    analysis = recording.analysis
    assert (analysis["iterations"], analysis["timesteps"]) == (50, 10 * int(recording.stdout))
    assert len(analysis["trainings"]) == 1


def test_recording_starts_and_ends_by_counted_iterations(tmp_path: Path) -> None:
    recording = run(tmp_path, "scalar", 50, "--delay-iterations", "10", "--max-iterations", "5")
    assert recording.analysis["iterations"] == 5
    assert "no iteration was reported" not in recording.stderr


def test_one_iteration_of_so_many_is_recorded(tmp_path: Path) -> None:
    recording = run(tmp_path, "vector", 6000, "--every", "100")
    assert len(begun_windows(recording.trace)) >= 3
    assert "no iteration was reported" not in recording.stderr
    found = json.loads(call_here("analyze", recording.trace, "--json").stdout)
    assert 0 < found["iterations"] <= 6000
    assert found["recorded_iterations"] >= 3
