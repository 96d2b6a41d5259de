"""Scripts without a training library: stages come from networks' calls, backward and steps."""

from pathlib import Path

import pytest
from asked_for import with_slow
from recording import record

#: An update's stopwatch begins a little earlier than its first call of a network: tensors are made for it.
TOLERANCE = 0.1


@pytest.mark.parametrize("algorithm", with_slow(["ppo", "dqn", "sac", "functional", "closure"], {"dqn", "sac"}))
def test_stages_are_as_long_as_by_a_stopwatch(algorithm: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "single_file.py", algorithm)
    assert recording.returncode == 0, recording.stderr
    stopwatch = recording.printed
    for stage, nanoseconds in stopwatch.items():
        if stage != "simulation":  # whose steps are too short to be compared with a stopwatch around them
            assert recording.seconds(stage=stage) * 1e9 == pytest.approx(nanoseconds, rel=TOLERANCE), stage
    assert recording.main_sweep()["misnested_operations"] == 0


def test_annotations_by_hand_are_not_guessed_over(tmp_path: Path) -> None:
    script = tmp_path / "annotated.py"
    script.write_text(
        "import gymnasium, rlscope, torch\n"
        "env = gymnasium.make('CartPole-v1')\n"
        "env.reset(seed=0)\n"
        "network = torch.nn.Linear(4, 2)\n"
        "optimizer = torch.optim.SGD(network.parameters(), lr=0.1)\n"
        "for _ in range(20):\n"
        "    with rlscope.operation('inference'), rlscope.operation('act'):\n"
        "        network(torch.zeros(4))\n"
        "    env.step(0)\n"
        "    with rlscope.operation('backpropagation'):\n"
        "        network(torch.zeros(4)).sum().backward()\n"
        "        optimizer.step()\n"
        "    with rlscope.operation('log'):\n"
        "        network(torch.zeros(4))\n"
    )
    recording = record(tmp_path / "trace", script)
    assert recording.returncode == 0, recording.stderr
    swept = recording.main_sweep()
    operations = {(row[1], row[2]) for row in swept["breakdown"]}
    assert {("inference", "act"), ("backpropagation", "backpropagation")} <= operations
    assert ("inference", "log") not in operations
    # By hand 4 in each turn and the environment's; guessed: the network call in `log`.
    assert swept["events"]["operation"] == 20 * (4 + 1 + 1) + 2
    assert swept["misnested_operations"] == 0


def test_a_network_inside_of_what_was_compiled_is_followed(tmp_path: Path) -> None:
    script = tmp_path / "compiled.py"
    script.write_text(
        "import rlscope, torch\n"
        "from torch.distributions import Categorical\n"
        "network = torch.nn.Linear(4, 2)\n"
        "optimizer = torch.optim.SGD(network.parameters(), lr=0.1)\n"
        "rows = torch.ones(8, 4)\n"
        "def compiled(function):\n"
        "    return torch.compile(function, backend='aot_eager', fullgraph=True)\n"
        "scores = compiled(lambda rows: network(rows).tanh())\n"
        "loss_of = compiled(lambda rows: network(rows).pow(2).mean())\n"
        "scaled = compiled(lambda rows: rows.sin())\n"
        "for _ in range(20):\n"
        "    with torch.no_grad():\n"
        "        Categorical(logits=scores(scaled(rows))).sample()\n"
        "    loss = loss_of(rows)\n"
        "    with rlscope.operation('between'):\n"
        "        loss = loss * 2\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "    with rlscope.operation('behind'):\n"
        "        loss * 2\n"
    )
    recording = record(tmp_path / "trace", script)
    assert recording.returncode == 0, recording.stderr
    entries = recording.entries()
    assert [entries.get((stage, "between")) for stage in ("(none)", "backpropagation")] == [1, 19]
    assert entries["(none)", "behind"] == 20
    # Acting, making a distribution and drawing from it in each turn, and the loss in the first one.
    times = recording.analysis["cpu_times"]
    assert sum(row["count"] for row in times if row["operation"] == "inference") == 3 * 20 + 1
    # The backward and the step of the first turn, and all of each later one: nothing of what compiling differentiates.
    assert sum(row["count"] for row in times if row["operation"] == "backpropagation") == 2 + 19
    assert recording.main_sweep()["misnested_operations"] == 0


def test_a_worker_that_only_calls_networks_infers(tmp_path: Path) -> None:
    script = tmp_path / "serve.py"
    script.write_text(
        "import torch\n"
        "network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))\n"
        "for _ in range(50):\n"
        "    network(torch.zeros(1000, 4))\n"
        "    sum(range(1000))\n"
    )
    recording = record(tmp_path / "trace", script)
    assert recording.returncode == 0, recording.stderr
    assert recording.main_sweep()["events"]["operation"] == 50
    assert recording.seconds(stage="inference", category="backend") > 0


def test_a_training_library_puts_an_end_to_guessing(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "from stable_baselines3 import PPO\n"
        "agent = PPO('MlpPolicy', 'CartPole-v1', n_steps=64, device='cpu')\n"
        "layer, rows = torch.nn.Linear(4, 4), torch.zeros(1, 4)\n"
        "def call(times):\n"
        "    for _ in range(times):\n"
        "        layer(rows)\n"
        "call(100)\n"
        "agent.learn(64)\n"
        "call(1000)\n"
    )
    analysis = record(tmp_path / "trace", script).analysis
    calls = {row["operation"]: row["count"] for row in analysis["transitions"] if row["to"] == "backend"}
    assert calls["inference"] == 100
    assert calls["(none)"] >= 1000
