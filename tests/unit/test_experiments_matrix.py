"""What a study's runs.toml may say, and what is said of one that says something else."""

from pathlib import Path

import pytest

from experiments import CHECKOUT
from experiments.harness.matrix import Budget, Window, cell_of, load_matrix
from experiments.verdicts.claims import load_claims
from rlscope.errors import UsageError

RUNS = """
script = "train.py"
total_timesteps = 1000
threads = 2
time_limit_s = 20

[budget.quick]
repetitions = 3
minutes = 1.5

[[group]]
name = "walker"
id = "Walker2d-v5"
python = "pytorch"
package = "mujoco"
arguments = ["--group"]
quick = { delay_iterations = 1, max_iterations = 2, timesteps_per_iteration = 10, arguments = ["--window"] }

[[workload]]
name = "PPO"
label = "PPO"
kind = "on-policy"
arguments = ["--entry"]
timesteps_per_iteration = 20
smoke = { whole = true }

[[workload]]
name = "DDPG"
label = "DDPG"
kind = "off-policy"
groups = ["walker"]
python = "tensorflow"
package = "tf_agents"
script = "other.py"
id = "Hopper-v5"
threads = 1
total_timesteps = 500
quick = { max_iterations = 3 }
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "runs.toml"
    path.write_text(text)
    return path


def test_an_entry_is_asked_before_its_group_and_that_before_the_matrix(tmp_path: Path) -> None:
    matrix = load_matrix(written(tmp_path, RUNS))
    assert matrix.budget("quick") == Budget(3, 1.5)
    ppo, ddpg = (cell_of(matrix, matrix.groups[0], entry, "quick") for entry in matrix.entries)
    assert ppo.window == Window(1, 2, 0, 10, ("--window",))
    assert (ppo.python, ppo.package, ppo.id) == ("pytorch", "mujoco", "Walker2d-v5")
    assert (ppo.script, ppo.threads, ppo.total_timesteps) == ("train.py", 2, 1000)
    assert ppo.timesteps_per_iteration == 10
    assert ppo.arguments == ("--group", "--entry", "--window")
    assert ddpg.window == Window(max_iterations=3)
    assert (ddpg.python, ddpg.package, ddpg.id) == ("tensorflow", "tf_agents", "Hopper-v5")
    assert (ddpg.script, ddpg.threads, ddpg.total_timesteps) == ("other.py", 1, 500)
    assert cell_of(matrix, matrix.groups[0], matrix.entries[0], "smoke").window.whole


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("time_limit_s", "time_limits", ""),
        ("minutes", "minute", ": budget: quick"),
        ("quick", "quik", ": budget"),
        ("group", "groups", ""),
        ("kind", "kinds", ": workload PPO"),
        ("delay_iterations", "delay_iteration", ": group walker: quick"),
        ("script", "scrip", ""),
    ],
)
def test_a_key_that_nobody_knows_is_one_line_that_names_the_nearest(
    right: str, wrong: str, place: str, tmp_path: Path
) -> None:
    path = written(tmp_path, RUNS.replace(right, wrong, 1))
    with pytest.raises(UsageError) as failed:
        load_matrix(path)
    assert str(failed.value) == f"{path}{place}: expected a known key (the nearest is `{right}`), found `{wrong}`"


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (
            '["walker"]',
            '["walkers"]',
            "workload DDPG: groups: expected the name of a group (the nearest is `walker`), found `walkers`",
        ),
        ("threads = 2", "seeded = true", "expected the key `threads`, found script, total_timesteps, seeded, time"),
        ("threads = 2", "threads = true", "threads: expected int, found True"),
        ('["--entry"]', '"--entry"', "workload PPO: arguments: expected a list of str, found '--entry'"),
        ('["--entry"]', '["--entry", 3]', "workload PPO: arguments: expected str, found 3"),
        ("{ whole = true }", "true", "workload PPO: smoke: expected a table, found True"),
    ],
)
def test_what_has_no_meaning_is_one_line(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, RUNS.replace(right, wrong, 1))
    with pytest.raises(UsageError) as failed:
        load_matrix(path)
    assert str(failed.value).startswith(f"{path}: {said}")
    assert "\n" not in str(failed.value)


def test_a_budget_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    matrix = load_matrix(written(tmp_path, RUNS))
    with pytest.raises(UsageError, match=r"^runs\.toml: expected the table \[budget\.paper\], found none$"):
        matrix.budget("paper")
    with pytest.raises(
        UsageError, match=r"^runs\.toml: workload DDPG: expected `paper` there or in its group walker, "
    ):
        cell_of(matrix, matrix.groups[0], matrix.entries[1], "paper")


def test_a_key_of_a_claim_that_nobody_knows_is_one_line(tmp_path: Path) -> None:
    study = CHECKOUT / "experiments" / "algorithm_choice"
    path = tmp_path / "claims.toml"
    path.write_text((study / "claims.toml").read_text().replace("may_differ =", "may_differs =", 1))
    with pytest.raises(
        UsageError, match=r"claims\.toml: claim A-\d+: .* nearest is `may_differ`\), found `may_differs`$"
    ):
        load_claims(path)
