"""Gymnasium without a training library: steps and resets are simulation, however many wrappers lie around them."""

from pathlib import Path

import pytest
from recording import record


@pytest.mark.parametrize(("kind", "environments"), [("scalar", 1), ("vector", 3)])
def test_steps_and_resets_are_simulation(kind: str, environments: int, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "gymnasium_loop.py", kind)
    assert recording.returncode == 0, recording.stderr
    swept = recording.main_sweep()
    crossings = swept["crossings"]
    # A vector environment resets instead of stepping where an episode has ended.
    assert crossings["mujoco._functions.mj_step"] + crossings["mujoco._functions.mj_resetData"] >= 50 * environments
    assert swept["misnested_operations"] == 0
    stages = {(row.stage, row.operation) for row in swept["breakdown"]}
    assert stages == {("(none)", "(none)"), ("simulation", "simulation"), ("simulation", "reset")}
    # A step is one operation, whatever wraps it; so is a reset, inside its stage.
    resets = swept["crossings"]["mujoco._functions.mj_resetData"]
    assert swept["events"]["operation"] <= 50 + 2 * resets + 2
    outside = [row.category for row in swept["breakdown"] if row.stage == "(none)"]
    assert "python" in outside


@pytest.mark.parametrize(("kind", "steps"), [("whole", 40), ("halves", 80)])
def test_ale_steps_its_vector_environment_whole_or_in_halves(kind: str, steps: int, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "vector_ale.py", kind)
    assert recording.returncode == 0, recording.stderr
    swept = recording.main_sweep()
    crossings = {name.rpartition(".")[2]: count for name, count in swept["crossings"].items()}
    assert {name: crossings[name] for name in ("reset", "send", "recv")} == {"reset": 1, "send": steps, "recv": steps}
    whole, halves = 40, 2 * (steps - 40)
    assert swept["events"]["operation"] == 2 + whole + halves  # a reset is one in its stage
    assert recording.seconds(operation="simulation", category="simulator") > 0
    assert recording.seconds(operation="reset", category="simulator") > 0


def test_workers_of_a_vector_environment_are_processes(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "vector_workers.py")
    assert (recording.returncode, recording.stdout) == (0, "done\n"), recording.stderr
    workers = [process["process"] for process in recording.analysis["processes"] if "Worker" in process["process"]]
    assert len(workers) == 2
    for worker in workers:
        crossings = recording.sweep_of(worker)["crossings"]
        # A turn of the environment is a step, or the reset after an episode's end.
        assert crossings["mujoco._functions.mj_step"] + crossings["mujoco._functions.mj_resetData"] == 30 + 1
        assert recording.seconds(process=worker, stage="simulation", category="simulator") > 0
    main = next(process["process"] for process in recording.analysis["processes"] if process["role"] == "main")
    assert recording.seconds(process=main, stage="simulation", category="wait") > 0


def test_models_and_many_worlds_are_the_simulators(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "mujoco_engine.py")
    assert recording.returncode == 0, recording.stderr
    crossings = recording.main_sweep()["crossings"]
    assert {name: count for name, count in crossings.items() if "_functions" not in name and "mujoco" in name} == {
        "mujoco._structs.MjModel.from_xml_string": 1 + 1,  # mujoco.batch makes one when it is imported
        "mujoco._specs.MjSpec.from_string": 1,
        "mujoco._specs.MjSpec.compile": 1,
        "mujoco._rollout.Rollout.rollout": 3,
        "mujoco._batch.Batch.step": 4,
    }


def test_gym_before_gymnasium(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "legacy_gym.py")
    assert (recording.returncode, recording.stdout) == (0, "done\n"), recording.stderr
    swept = recording.main_sweep()
    assert swept["events"]["operation"] == 42  # 40 steps; a reset in its stage
    assert {(row[1], row[2]) for row in swept["breakdown"]} == {
        ("(none)", "(none)"),
        ("simulation", "simulation"),
        ("simulation", "reset"),
    }


@pytest.mark.parametrize(
    ("environment", "crossing", "each_step"),
    [("ALE/Pong-v5", "ale_py._ale_py.ALEInterface.act", 4), ("LunarLander-v3", "Box2D.b2World.Step", 1)],
)
def test_simulators_under_gymnasium(environment: str, crossing: str, each_step: int, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "random_agent.py", environment)
    assert recording.returncode == 0, recording.stderr
    steps = int(recording.stdout)
    swept = recording.main_sweep()
    outside_steps = swept["crossings"][crossing] - each_step * steps
    assert 0 <= outside_steps <= 2  # LunarLander steps once in a reset
    assert {row[1] for row in swept["breakdown"] if row[3] == "simulator" and row[1] != "(none)"} == {"simulation"}
    assert recording.seconds(stage="simulation", category="simulator") > 0
