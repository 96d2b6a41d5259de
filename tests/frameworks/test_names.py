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


def test_networks_of_nnx_and_what_optax_does_between_gradients(record_pytorch: Record) -> None:
    recording = record_pytorch("nnx_steps.py")
    assert recording.printed["looks"] == ["act", "Network.__call__", "apply_updates"]
    calls = recording.printed["calls"]
    crossings = recording.main_sweep()["crossings"]
    assert crossings["jax.jit(act)"] >= calls
    staged = seconds_of_stages(recording)
    # With what NNX does around the call of the compiled function, which takes longer.
    for phase, stages in (
        ("nnx", {"inference", "backpropagation"}),
        ("called", {"inference"}),
        ("optax", {"backpropagation"}),
    ):
        assert staged[phase].keys() - {"(none)"} == stages
        assert staged[phase].get("(none)", 0) < 0.2 * sum(staged[phase].values()), (phase, staged[phase])
    operations = {(row["stage"], row["operation"]) for row in recording.analysis["breakdown"]}
    assert ("backpropagation", "update_target_network") in operations


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


def test_loops_with_models_of_keras(record_tensorflow: Record) -> None:
    recording = record_tensorflow("keras_steps.py")
    assert recording.printed["looks"] == ["__call__", "__enter__"]
    staged = seconds_of_stages(recording)
    for phase, stages in (
        ("acting", {"inference"}),
        ("compiled acting", {"inference"}),
        ("learning", {"inference", "backpropagation"}),  # a network that gives targets is called without a tape
        ("compiled learning", {"backpropagation"}),
    ):
        assert staged[phase].keys() - {"(none)"} == stages, phase
        assert staged[phase].get("(none)", 0) < 0.2 * sum(staged[phase].values()), (phase, staged[phase])
    assert staged["learning"]["backpropagation"] > staged["learning"]["inference"]


def seconds_of_stages(recording: Recording) -> dict[str, dict[str, float]]:
    """The seconds of each stage in each phase in which the program worked."""
    staged: dict[str, dict[str, float]] = {}
    for row in recording.analysis["breakdown"]:
        if row["category"] in ("python", "backend"):
            seconds = staged.setdefault(row["phase"], {})
            seconds[row["stage"]] = seconds.get(row["stage"], 0) + row["seconds"]
    return staged
