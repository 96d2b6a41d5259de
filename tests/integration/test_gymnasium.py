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
    stages = {(stage, operation) for _, stage, operation, _, _, _ in swept["breakdown"]}
    assert stages == {("(none)", "(none)"), ("simulation", "simulation"), ("simulation", "reset")}
    # A step is one operation, whatever wraps it; so is a reset, inside its stage.
    resets = swept["crossings"]["mujoco._functions.mj_resetData"]
    assert swept["events"]["operation"] <= 50 + 2 * resets + 2
    outside = [category for _, stage, _, category, _, _ in swept["breakdown"] if stage == "(none)"]
    assert "python" in outside
