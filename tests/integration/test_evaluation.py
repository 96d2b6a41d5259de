"""What libraries do to test a policy is a phase of its own, in programs that know nothing of it."""

import shutil
from pathlib import Path

import pytest
from recording import SCRIPTS, Recording, record

# CleanRL wants packages older than those that are here, so this stands for its function; it is called by its name.
CLEANRL = """
import gymnasium
import torch


def evaluate(model_path, make_env, env_id, eval_episodes, run_name, Model, device="cpu", epsilon=0.05):
    envs = gymnasium.vector.SyncVectorEnv([make_env(env_id, 0, 0, False, run_name)])
    model = Model(envs)
    model.load_state_dict(torch.load(model_path))
    model.eval()
    obs, _ = envs.reset(seed=1)
    episodes = []
    while len(episodes) < eval_episodes:
        obs, _, terminated, _, _ = envs.step(torch.argmax(model(torch.Tensor(obs)), dim=1).numpy())
        episodes += [1] * int(terminated.sum())
    return episodes
"""


def seconds_by_phase(recording: Recording) -> dict[str, float]:
    """Of the main process."""
    (main,) = recording.analysis["processes"]
    rows = recording.analysis["breakdown"]
    assert sum(row["seconds"] for row in rows) == pytest.approx(main["wall_s"])
    return {phase: recording.seconds(phase=phase) for phase in {row["phase"] for row in rows}}


def operations(recording: Recording, phase: str) -> set[str]:
    return {row["operation"] for row in recording.analysis["breakdown"] if row["phase"] == phase}


def test_a_callback_that_evaluates_a_policy(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "evaluated.py", "baselines")
    assert recording.returncode == 0, recording.stderr
    assert recording.stdout.split() == ["True", "evaluation.py"]
    by_phase = seconds_by_phase(recording)
    assert set(by_phase) == {"(none)", "mine", "evaluation"}
    assert recording.main_sweep()["events"]["phase"] == 1 + 1 + 3 + 1  # before, its own, by the callback, in vain
    assert {"inference", "simulation", "evaluate"} <= operations(recording, "evaluation")
    assert "backpropagation" not in operations(recording, "evaluation")
    # What collects is open where the phase begins, until `evaluate` is.
    assert recording.seconds(phase="evaluation", operation="collect_data") < 0.01 * by_phase["evaluation"]
    assert "backpropagation" in operations(recording, "mine")
    analysis = recording.analysis
    assert analysis["evaluation_s"] == {analysis["processes"][0]["process"]: pytest.approx(by_phase["evaluation"])}
    assert (analysis["iterations"], analysis["timesteps"]) == (12, 60)
    assert analysis["extrapolated_s"] <= by_phase["mine"]
    assert analysis["life"]["loop_ns"] / 1e9 <= by_phase["mine"] * 1.001


def test_a_callback_that_evaluates_a_policy_with_masks_of_actions(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "evaluated.py", "contrib")
    assert (recording.returncode, recording.stdout.strip()) == (0, "True"), recording.stderr
    assert set(seconds_by_phase(recording)) == {"(none)", "evaluation"}
    assert recording.main_sweep()["events"]["phase"] == 1 + 2  # before, and by the callback
    assert {"inference", "simulation"} <= operations(recording, "evaluation")
    assert "backpropagation" in operations(recording, "(none)") - operations(recording, "evaluation")


def test_the_function_with_which_cleanrl_evaluates(tmp_path: Path) -> None:
    package = tmp_path / "cleanrl_utils" / "evals"
    package.mkdir(parents=True)
    (package / "dqn_eval.py").write_text(CLEANRL)
    shutil.copy(SCRIPTS / "evaluated.py", tmp_path)  # beside which Python looks for packages first
    recording = record(tmp_path / "trace", tmp_path / "evaluated.py", "cleanrl")
    assert (recording.returncode, recording.stdout.strip()) == (0, "2"), recording.stderr
    by_phase = seconds_by_phase(recording)
    assert set(by_phase) == {"(none)", "evaluation"}
    assert {"simulation", "inference"} <= operations(recording, "evaluation")
    assert "backpropagation" in operations(recording, "(none)")
    assert list(recording.analysis["evaluation_s"].values()) == [pytest.approx(by_phase["evaluation"])]


def test_a_function_of_the_script_is_offered_as_an_evaluation(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "evaluated.py", "own", options=("--lines",))
    assert recording.returncode == 0, recording.stderr
    (row,) = recording.analysis["possible_evaluations"]
    assert (row["function"], Path(row["file"]).name) == ("own.<locals>.evaluate", "evaluated.py")
    assert row["simulation_s"] + row["inference_s"] < row["seconds"]
    assert row["seconds"] == pytest.approx(float(recording.stdout), rel=0.3)
    assert "evaluation" not in {each["phase"] for each in recording.analysis["breakdown"]}
