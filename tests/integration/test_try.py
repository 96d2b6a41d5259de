"""Trials of real trainings: changes are in force, numbers stay where they should, and a run ends behind its part."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rlscope.signals import held_signals
from rlscope.trial.change import Change, change_names
from rlscope.trial.numbers import Kind, Numbers, compared
from rlscope.trial.one_trial import UNKNOWN, Command, Outcome, Part, run_trial
from rlscope.trial.schema import try_schema

RLSCOPE = [sys.executable, "-m", "rlscope"]
#: PPO on environments in processes, with evaluations, and a line printed that only a whole run reaches.
PPO = """
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

if __name__ == "__main__":
    torch.set_num_threads(2)
    environments = make_vec_env("CartPole-v1", n_envs=2, seed=1, vec_env_cls=SubprocVecEnv)
    model = PPO("MlpPolicy", environments, n_steps=64, batch_size=64, n_epochs=2, seed=1, verbose=1)
    evaluation = EvalCallback(make_vec_env("CartPole-v1", seed=2), eval_freq=50, n_eval_episodes=1, verbose=0)
    model.learn(1280, callback=evaluation)
    open("finished", "w").close()
"""
#: A loop without a network, over a vector of environments in processes.
VECTOR = """
import gymnasium as gym
import numpy as np

if __name__ == "__main__":
    environments = gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="{mode}")
    environments.reset(seed=1)
    for _ in range(2000):
        environments.step(np.array([0, 1, 0]))
    environments.close()
"""
#: A network of its own, without environments.
PLAIN = """
import torch

torch.manual_seed(1)
network = torch.nn.Linear(64, 64)
optimizer = torch.optim.Adam(network.parameters(){options})
for step in range({steps}):
    loss = network(torch.randn(16, 64)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
#: A network that learns from a data set.
LOADER = """
import torch

torch.manual_seed(1)
data = torch.utils.data.TensorDataset(torch.randn(8000, 16))
network = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
if __name__ == "__main__":
    for epoch in range(40):
        for (batch,) in torch.utils.data.DataLoader(data, 64, True):
            loss = network(batch).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "work").mkdir()
    yield tmp_path / "work"


def tried(folder: Path, changes: Sequence[str], part: Part) -> Outcome:
    with held_signals() as mask:
        command = Command((sys.executable, "train.py"), folder, False, False, mask)
        watched = () if part != UNKNOWN else change_names()
        return run_trial(command, [Change(name) for name in changes], part, watched)


def stayed(base: Outcome, other: Outcome) -> Numbers:
    return compared(base.losses, other.losses, base.sums, other.sums, "losses")


def test_a_training_of_stable_baselines3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(PPO)
    first = tried(folder, (), UNKNOWN)
    assert not first.failure
    assert first.part.unit == "updates"
    # An iteration is 128 timesteps and four updates: the part begins and ends with whole ones.
    assert first.part.begin % 4 == 0 and first.part.end % 4 == 0 and first.part.begin < first.part.end <= 40
    assert {"one-process", "no-evaluation", "no-logging", "fused", "threads"} <= first.met.keys()
    assert "processes" not in first.met  # the only vector of one process has one environment
    assert first.threads == 2
    base = tried(folder, (), first.part)
    together = tried(folder, ("one-process", "no-evaluation", "no-logging"), first.part)
    assert together.met.keys() == {"one-process", "no-evaluation", "no-logging"}
    assert together.processes < first.processes
    assert stayed(base, together).kind is Kind.SAME
    rounded = tried(folder, ("fused", "threads"), first.part)
    assert rounded.met.keys() == {"fused", "threads"} and rounded.threads == 1
    assert stayed(base, rounded).kind in (Kind.SAME, Kind.CLOSE)
    assert sorted(path.name for path in folder.iterdir()) == ["train.py"]  # neither a file of a run, nor its end


@pytest.mark.parametrize(("mode", "change"), [("async", "one-process"), ("sync", "processes")])
def test_environments_without_a_network(mode: str, change: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(VECTOR.format(mode=mode))
    first = tried(folder, (), UNKNOWN)
    assert not first.failure
    assert first.part.unit == "steps"
    assert change in first.met
    assert first.processes == (4 if mode == "async" else 1)
    changed = tried(folder, (change,), first.part)
    assert changed.met.keys() == {change}
    assert changed.processes == (1 if mode == "async" else 4)
    assert stayed(first, changed).kind is Kind.SAME  # of rewards


def test_a_loader_gets_workers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(LOADER)
    first = tried(folder, (), UNKNOWN)
    assert not first.failure
    assert {"loader-workers", "fused"} <= first.met.keys()
    changed, base = (tried(folder, changes, first.part) for changes in (("loader-workers",), ()))
    assert changed.met.keys() == {"loader-workers"}
    assert changed.processes > base.processes
    assert stayed(base, changed).kind is Kind.SAME


def test_a_program_that_ends_before_the_part_does_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(PLAIN.format(options="", steps=20))
    found = tried(folder, (), Part("updates", 5, 30))
    assert found.failure == "it ended by itself after 20 of 30 updates"


def test_a_change_that_breaks_the_program_is_a_row_with_its_last_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    broken = "import os\nif os.environ.get('OMP_NUM_THREADS') == '1':\n    raise RuntimeError('needs threads')\n"
    (folder / "train.py").write_text(broken + PLAIN.format(options="", steps=4000))
    words = ["try", "--changes", "threads,no-rendering", "--minutes", "1", "--json", "--", sys.executable, "train.py"]
    found = subprocess.run([*RLSCOPE, *words], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    Draft202012Validator(try_schema()).validate(document)
    rows = {row["changes"][0]: row for row in document["tried"]}
    assert rows["no-rendering"]["verdict"] == "not in force"
    if rows["threads"]["verdict"] != "not in force":  # on a machine of one core there is one thread
        assert (rows["threads"]["verdict"], rows["threads"]["why"]) == ("failed", "RuntimeError: needs threads")
    assert rows["threads"]["processor"] is rows["threads"]["wall"] is None
    assert document["measured"]["unit"] == "updates"


def test_a_program_that_does_not_train_is_an_error(folder: Path) -> None:
    words = ["try", "--changes", "fused", "--", sys.executable, "-c", "print(1); raise SystemExit('no data')"]
    found = subprocess.run([*RLSCOPE, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "a program that trains was expected" in found.stderr and "no data" in found.stderr


def test_an_interrupt_ends_the_runs_and_prints_what_is_known(folder: Path) -> None:
    (folder / "train.py").write_text(PLAIN.format(options="", steps=100000))
    words = ["try", "--changes", "fused,no-rendering", "--json", "--", sys.executable, "train.py"]
    started = subprocess.Popen(
        [*RLSCOPE, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with started:
        assert started.stdout is not None and started.stderr is not None
        for line in started.stderr:
            if "no-rendering: not in force" in line:
                break
        os.killpg(started.pid, signal.SIGINT)
        printed, said = started.communicate(timeout=60)
    assert started.returncode == 128 + signal.SIGINT
    assert "ended by SIGINT" in said
    document = json.loads(printed)
    Draft202012Validator(try_schema()).validate(document)
    assert document["tried"][0]["changes"] == ["no-rendering"]
    assert not document["is_complete"]
    with pytest.raises(ProcessLookupError):
        os.killpg(started.pid, 0)
