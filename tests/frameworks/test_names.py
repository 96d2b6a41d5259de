"""Names of libraries that are no trainers of RL: networks and environments that scripts put into loops of their own."""

from collections.abc import Callable
from pathlib import Path

from recording import Recording

Record = Callable[..., Recording]


def test_haikus_networks_act_and_learn_in_jumanjis_environments(record_pytorch: Record) -> None:
    recording = record_pytorch("haiku_steps.py")
    assert recording.printed["looks"] == "apply_fn"
    calls = recording.printed["calls"]
    found = recording.entries()
    # What is called as it is, is in its stage; so is what was compiled, with the wait for its results.
    assert found["simulation", "reset"] > 0
    assert found["simulation", "simulation"] >= 2 * calls
    assert found["inference", "inference"] >= calls
    assert found["backpropagation", "backpropagation"] >= calls
    crossings = recording.main_sweep()["crossings"]
    assert crossings["jax.jit(apply_fn)"] == crossings["jax.jit(step)"] == calls
    assert recording.seconds(stage="simulation", category="simulator") == 0


def test_models_of_keras(record_tensorflow: Record, tmp_path: Path) -> None:
    recording = record_tensorflow("keras_few.py", tmp_path / "model.keras")
    printed = recording.printed
    assert printed["epochs"] == printed["times"]
    operations = {(row["stage"], row["operation"], row["phase"]) for row in recording.analysis["breakdown"]}
    for stage in ("inference", "backpropagation"):
        assert (stage, stage, "(none)") in operations
        assert recording.layer_seconds("backend", stage=stage, phase="(none)") > 0
    assert {operation for _, operation, _ in operations} >= {"callback", "checkpoint", "compile"}
    assert ("inference", "sample_batch", "(none)") in operations  # of what is predicted
    assert recording.seconds(phase="evaluation", stage="inference") > 0
    assert recording.seconds(phase="evaluation", stage="backpropagation") == 0
