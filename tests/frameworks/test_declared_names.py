"""Every name that a library's file declares is in the library, for the libraries of other environments."""

from pathlib import Path

import pytest
from declared_names import FOUND, LACKED, LACKING, looked_up

ROOT = Path(__file__).resolve().parents[2]
OF_ENVIRONMENT = {
    "pytorch": """
        torch jax flax haiku ale brax gymnax jumanji mujoco mujoco_playground open_spiel pettingzoo pgx pybullet
        pyflyt sbx ray rllib
    """,
    "tensorflow": "tensorflow tf_agents keras gym",
    "dm_control": "dm_control mujoco",
    "others": "sb3_contrib rsl_rl skrl torchrl tianshou xuance envpool numba warp",
    "d3rlpy": "d3rlpy gym",
}


@pytest.mark.parametrize("name", OF_ENVIRONMENT)
def test_every_name_that_is_declared_is_in_the_library(name: str) -> None:
    report = looked_up(ROOT / ".venvs" / name / "bin" / "python")
    assert {dotted for names in report.values() for dotted in names[LACKING]} <= set(LACKED)
    assert not [file for file in OF_ENVIRONMENT[name].split() if not report[f"rlscope.libraries.{file}"][FOUND]]
