"""Simulators with environments of their own: every step is simulation, once, and what is native the simulator's."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from framework_runs import WORKLOADS
from recording import Recording

Record = Callable[..., Recording]


def printed(recording: Recording) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(recording.stdout.splitlines()[-1])
    return result


def entries(recording: Recording) -> dict[tuple[str, str], int]:
    """Entries from Python into the backend, by stage and operation."""
    return {
        (row["stage"], row["operation"]): row["count"]
        for row in recording.analysis["transitions"]
        if (row["from"], row["to"]) == ("python", "backend")
    }


@pytest.mark.parametrize("way", ["camera", "together", "in_turn", "alone"])
def test_pyflyt(way: str, record_pytorch: Record) -> None:
    recording = record_pytorch("pyflyt_steps.py", way, PYTHONPATH=str(WORKLOADS))
    known = printed(recording)
    swept = recording.main_sweep()
    crossings = swept["crossings"]
    assert crossings["pybullet.stepSimulation"] == known["physics_steps"]
    assert crossings.get("pybullet.getCameraImage", 0) == known["pictures"]
    assert swept["events"]["operation"] == known["operations"]
    assert recording.seconds(operation="simulation", category="simulator") > 0
    assert recording.seconds(operation="reset", category="simulator") > 0


@pytest.mark.parametrize("way", ["suite", "composer", "gymnasium"])
def test_dm_control(way: str, record_dm_control: Record) -> None:
    recording = record_dm_control("dm_control_steps.py", way, MUJOCO_GL="disabled")
    known = printed(recording)
    swept = recording.main_sweep()
    assert swept["events"]["operation"] == known.pop("operations")
    assert {name: swept["crossings"][f"mujoco._functions.{name}"] for name in known} == known
    assert recording.seconds(operation="simulation", category="simulator") > 0
    assert recording.seconds(operation="reset", category="simulator") > 0


def test_brax_call_by_call(record_pytorch: Record) -> None:
    recording = record_pytorch("jax_environments.py", "brax_call_by_call", options=("--delay-iterations", "1"))
    known = printed(recording)
    # A reset is an operation in its stage. The wrappers and the environment in them are one.
    assert recording.main_sweep()["events"]["operation"] == known["steps"] + 2 * known["resets"]
    assert set(entries(recording)) == {("simulation", "simulation"), ("simulation", "reset")}


@pytest.mark.parametrize("way", ["brax_compiled", "mjx_compiled"])
def test_compiled_steps_are_calls_of_the_backend_in_the_stage_simulation(way: str, record_pytorch: Record) -> None:
    recording = record_pytorch("jax_environments.py", way)
    known = printed(recording)
    crossings = recording.main_sweep()["crossings"]
    found = entries(recording)
    assert found[("simulation", "simulation")] == sum(known.values())
    assert {name: crossings[name] - 1 for name in known} == known  # one that compiled
    assert (("simulation", "reset") in found) == (way == "mjx_compiled")  # mjx.make_data is called outside any function
    assert recording.seconds(stage="simulation", category="simulator") == 0


def test_ale_compiled_into_a_program_is_the_backends(record_pytorch: Record) -> None:
    recording = record_pytorch("jax_environments.py", "ale_compiled")
    known = printed(recording)
    crossings = recording.main_sweep()["crossings"]
    assert {name: crossings[name] - 1 for name in known} == known
    assert recording.seconds(operation="simulation", category="backend") > 0
    assert recording.seconds(operation="simulation", category="simulator") == 0
    assert recording.seconds(operation="reset", category="simulator") > 0
