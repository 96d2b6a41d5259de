"""The same weights and the same batch give the same weights after two updates, whatever the framework."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from asked_for import with_slow
from framework_runs import PROGRAMS, WORKLOADS, run_in

#: Of what is like another one, those that take long.
SLOW = {"jax_loop", "stable_baselines3_compiled"}
SIZES = {"td3": (400, 300), "ddpg": (64, 64)}
OBSERVATION, ACTION, BATCH = 17, 6, 100
SCALE = 1000
#: (environment, program, arguments); the first one is what the others are held against.
FRAMEWORKS = {
    "stable_baselines3": ("pytorch", "update_stable_baselines3.py", ()),
    "stable_baselines3_compiled": ("pytorch", "update_stable_baselines3.py", ("--compile",)),
    "stable_baselines3_host_adam": ("pytorch", "update_stable_baselines3.py", ("--adam", "host")),
    "sbx": ("pytorch", "update_sbx.py", ()),
    "jax_loop": ("pytorch", "update_jax_loop.py", ()),
    "tf_agents": ("tensorflow", "update_tf_agents.py", ()),
}
#: Of how far an array of weights has moved, as Euclidean distances. Adam steps as far along a gradient that is next to
#: nothing as along any other, so rounding shows in single weights. (It does not see a constant factor in a loss.)
#: Seen: 1e-4 among PyTorch and JAX, 1.4e-3 with TensorFlow.
TOLERANCE = 5e-3


def problem(algo: str) -> dict[str, np.ndarray]:
    """Random networks of the published shape and a batch, one transition in ten being terminal.

    Rewards and what the critics say are large, and so gradients are: TensorFlow adds Adam's epsilon before it corrects
    the bias, the others after, which shows where a gradient is not much larger than epsilon.
    """
    random = np.random.default_rng(7)
    made = {}
    networks = {"actor": (OBSERVATION, ACTION), "critic0": (OBSERVATION + ACTION, 1)}
    if algo == "td3":
        networks["critic1"] = networks["critic0"]
    for name, (inputs, outputs) in networks.items():
        widths = (inputs, *SIZES[algo], outputs)
        for index, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
            is_value = name != "actor" and fan_out == outputs
            limit = fan_in**-0.5 * (SCALE if is_value else 1)
            made[f"{name}.{index}.w"] = random.uniform(-limit, limit, (fan_in, fan_out))
            made[f"{name}.{index}.b"] = random.uniform(-limit, limit, fan_out)
            if algo == "ddpg" and index < len(widths) - 2:
                made[f"{name}.{index}.scale"] = random.uniform(0.5, 1.5, fan_out)
                made[f"{name}.{index}.offset"] = random.uniform(-0.5, 0.5, fan_out)
    made |= {
        "observation": random.normal(size=(BATCH, OBSERVATION)),
        "action": random.uniform(-1, 1, (BATCH, ACTION)),
        "reward": SCALE * random.normal(size=BATCH),
        "next_observation": random.normal(size=(BATCH, OBSERVATION)),
        "done": (np.arange(BATCH) % 10 == 0),
    }
    return {name: value.astype(np.float32) for name, value in made.items()}


@pytest.fixture(scope="module", params=sorted(SIZES))
def solved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, dict]:
    """An algorithm, the problem's file, and the weights that Stable-Baselines3 ends with."""
    path = tmp_path_factory.mktemp(request.param) / "problem.npz"
    np.savez(path, **problem(request.param))
    return request.param, path, after_two_updates("stable_baselines3", request.param, path)


def after_two_updates(framework: str, algo: str, path: Path) -> dict[str, np.ndarray]:
    environment, program, arguments = FRAMEWORKS[framework]
    output = path.with_name(f"{framework}.npz")
    command = (PROGRAMS / program, path, output, "--algo", algo, *arguments)
    finished = run_in(environment, *command, PYTHONPATH=str(WORKLOADS))
    assert finished.returncode == 0, finished.stderr[-4000:]
    return dict(np.load(output))


@pytest.mark.parametrize("framework", with_slow([name for name in FRAMEWORKS if name != "stable_baselines3"], SLOW))
def test_updates_agree(framework: str, solved: tuple[str, Path, dict]) -> None:
    algo, path, expected = solved
    found, before = after_two_updates(framework, algo, path), np.load(path)
    assert set(found) == set(expected)
    for name, weights in expected.items():
        moved = np.linalg.norm(weights - before[name])
        assert np.linalg.norm(found[name] - weights) <= TOLERANCE * moved, name


def test_every_network_has_learned(solved: tuple[str, Path, dict]) -> None:
    """Else they might agree because nothing happened."""
    _, path, expected = solved
    before = np.load(path)
    for name, weights in expected.items():
        moved = np.abs(weights - before[name])
        assert moved.shape == before[name].shape
        assert np.median(moved) > 5e-5, name
