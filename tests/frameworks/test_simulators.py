"""Simulators with environments of their own: every step is simulation, once, and what is native the simulator's."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from asked_for import with_slow
from framework_runs import ROOT, WORKLOADS
from recording import Recording

Record = Callable[..., Recording]


@pytest.mark.parametrize("way", ["camera", "together", "in_turn", "alone"])
def test_pyflyt(way: str, record_pytorch: Record) -> None:
    recording = record_pytorch("pyflyt_steps.py", way, PYTHONPATH=str(WORKLOADS), NUMBA_DISABLE_JIT="1")
    known = recording.printed
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
    known = recording.printed
    swept = recording.main_sweep()
    assert swept["events"]["operation"] == known.pop("operations")
    assert {name: swept["crossings"][f"mujoco._functions.{name}"] for name in known} == known
    assert recording.seconds(operation="simulation", category="simulator") > 0
    assert recording.seconds(operation="reset", category="simulator") > 0


def test_brax_call_by_call(record_pytorch: Record) -> None:
    recording = record_pytorch("jax_environments.py", "brax_call_by_call", options=("--delay-iterations", "1"))
    known = recording.printed
    # A reset is an operation in its stage. The wrappers and the environment in them are one.
    assert recording.main_sweep()["events"]["operation"] == known["steps"] + 2 * known["resets"]
    assert set(recording.entries()) == {("simulation", "simulation"), ("simulation", "reset")}


@pytest.mark.parametrize("way", with_slow(["brax_compiled", "mjx_compiled"], {"brax_compiled"}))
def test_compiled_steps_are_calls_of_the_backend_in_the_stage_simulation(way: str, record_pytorch: Record) -> None:
    recording = record_pytorch("jax_environments.py", way)
    known = recording.printed
    crossings = recording.main_sweep()["crossings"]
    found = recording.entries()
    # A wait for each call; what is new is run by Python, after it was compiled.
    assert found[("simulation", "simulation")] >= 2 * (sum(known.values()) + len(known))
    assert {name: crossings[name] - 1 for name in known} == known  # one that compiled
    assert (("simulation", "reset") in found) == (way == "mjx_compiled")  # mjx.make_data is called outside any function
    assert recording.seconds(stage="simulation", category="simulator") == 0


def test_ale_compiled_into_a_program_is_the_backends(record_pytorch: Record) -> None:
    recording = record_pytorch("jax_environments.py", "ale_compiled")
    known = recording.printed
    crossings = recording.main_sweep()["crossings"]
    assert {name: crossings[name] - 1 for name in known} == known
    assert recording.seconds(operation="simulation", category="backend") > 0
    assert recording.seconds(operation="simulation", category="simulator") == 0
    assert recording.seconds(operation="reset", category="simulator") > 0


@pytest.fixture(scope="module")
def slow_simulator() -> None:
    subprocess.run(["make", "--silent", "-C", ROOT, "simulators", f"PYTHON={sys.executable}"], check=True)


TRAINING = {
    "camera_drone:CameraDrone-v0": (4, "pybullet.getCameraImage", 1),
    "slow_drone:SlowDrone-v0": (4, "slow_simulator.step", 1),
    "AntBulletEnv-v0": (8, "pybullet.stepSimulation", 1),
    "PongNoFrameskip-v4": (8, "ale_py._ale_py.ALEInterface.act", 4),
    "HalfCheetah-v5": (1, "mujoco._functions.mj_step", 1),
}

SLOW = {"camera_drone:CameraDrone-v0", "PongNoFrameskip-v4"}


@pytest.mark.usefixtures("slow_simulator")
@pytest.mark.parametrize("env_id", with_slow(TRAINING, SLOW))
def test_training_of_the_survey(env_id: str, record_pytorch: Record) -> None:
    """What is native in a simulator is the simulator's, in simulation alone; the wrappers around it are Python's."""
    environments, function, calls_per_timestep = TRAINING[env_id]
    timesteps = 16 * environments
    arguments = ("--algo", "ppo", "--env", env_id, "--rollout-steps", 16, "--stop-after", timesteps)
    recording = record_pytorch(
        WORKLOADS / "stable_baselines3_train.py", *arguments, options=("--max-iterations", "1"), MUJOCO_GL="disabled"
    )
    analysis = recording.analysis
    assert (analysis["iterations"], analysis["timesteps"]) == (1, timesteps)
    assert recording.main_sweep()["crossings"][function] >= calls_per_timestep * timesteps
    assert recording.seconds(stage="simulation", category="simulator") > 0
    assert recording.seconds(stage="simulation", category="python") > 0
    for stage in ("inference", "backpropagation"):
        assert recording.seconds(stage=stage, category="backend") > 0
        assert recording.seconds(stage=stage, category="simulator") == 0
