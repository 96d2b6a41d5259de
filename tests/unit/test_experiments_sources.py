"""Which changes beside a training script repeat a run."""

from pathlib import Path

import pytest

from experiments.harness.case_study import WORKLOADS
from experiments.harness.sources import hash_of_sources, sources_of


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Two scripts with hyper-parameters of their own, and a simulator that one is told to use."""
    files = {
        "train_td3.py": "import argparse\nfrom td3_parameters import RATE",
        "train_ppo.py": "def main():\n    import ppo_parameters.rates as rates",
        "td3_parameters.py": "import shared.base",
        "drone.py": "import native",
        "native.cpp": "int step();",
        "unused.py": "1",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for package in ("shared", "ppo_parameters"):
        (tmp_path / package).mkdir()
    (tmp_path / "shared" / "base.py").touch()
    (tmp_path / "ppo_parameters" / "rates.py").write_text("RATE = 1")
    return tmp_path / "train_td3.py"


def names(script: Path, *arguments: str) -> set[str]:
    return {path.name for path in sources_of(script, arguments)}


def test_a_script_depends_on_what_it_imports_from_beside_it(script: Path) -> None:
    assert names(script) == {"train_td3.py", "td3_parameters.py", "base.py"}
    assert names(script.with_name("train_ppo.py")) == {"train_ppo.py", "rates.py"}


def test_a_module_that_an_argument_names_counts_with_what_it_is_compiled_from(script: Path) -> None:
    assert names(script, "--env", "drone:Drone-v0") == names(script) | {"drone.py", "native.cpp"}
    assert names(script, "--env", "elsewhere:Drone-v0", "--device", "cuda:0") == names(script)


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        ("td3_parameters.py", {"train_td3.py"}),
        ("shared/base.py", {"train_td3.py"}),
        ("ppo_parameters/rates.py", {"train_ppo.py"}),
        ("train_ppo.py", {"train_ppo.py"}),
        ("native.cpp", set()),
        ("unused.py", set()),
    ],
)
def test_a_changed_file_changes_only_the_hashes_of_what_it_touches(
    script: Path, changed: str, touched: set[str]
) -> None:
    scripts = [script, script.with_name("train_ppo.py")]
    before = [hash_of_sources(path, ()) for path in scripts]
    with (script.parent / changed).open("a") as file:
        file.write("\n")
    after = [hash_of_sources(path, ()) for path in scripts]
    assert {path.name for path, one, two in zip(scripts, before, after, strict=True) if one != two} == touched


def test_the_workloads_of_one_study_leave_those_of_another_alone() -> None:
    comparison = names(WORKLOADS / "stable_baselines3_off_policy.py", "--algo", "td3")
    assert {"hyperparameters.py", "environment.py", "command_line.py", "host_adam.py"} <= comparison
    assert "jax_update.py" not in names(WORKLOADS / "stable_baselines3_train.py", "--algo", "ppo")
    assert "slow_simulator.cpp" in names(WORKLOADS / "stable_baselines3_train.py", "--env", "slow_drone:SlowDrone-v0")
    natives = {"cartpole.h", "cartpole.cu", "cpp_threads.cpp"}
    assert natives <= names(WORKLOADS / "cartpole_ppo.py")
    assert not natives & comparison
