"""Unmodified Stable-Baselines3 scripts: every algorithm gets its stages, finer operations and progress."""

import subprocess
import sys
from pathlib import Path

import pytest
from asked_for import with_slow
from recording import environment, record, run_plain

ON_POLICY = {"sample_action", "predict_values", "compute_advantage_estimates"}
OFF_POLICY = {"sample_action", "replay_buffer_add", "sample_batch", "update_target_network"}
CASES = {
    "PPO": ("Walker2d-v5", ON_POLICY, 512, 2),
    "A2C": ("Walker2d-v5", ON_POLICY, 400, 50),
    "DQN": ("CartPole-v1", OFF_POLICY, 400, 100),
    "DDPG": ("Walker2d-v5", OFF_POLICY, 150, 150),
    "TD3": ("Walker2d-v5", OFF_POLICY, 150, 150),
    "SAC": ("Walker2d-v5", OFF_POLICY, 150, 150),
}


@pytest.mark.parametrize("algorithm", with_slow(CASES, {"A2C", "DQN", "DDPG", "SAC"}))
def test_stages_operations_and_progress(algorithm: str, tmp_path: Path) -> None:
    env, operations, timesteps, iterations = CASES[algorithm]
    recording = record(tmp_path / "trace", "train.py", algorithm, "--env", env, "--timesteps", timesteps)
    assert recording.returncode == 0, recording.stderr
    analysis = recording.analysis
    assert analysis["complete"]
    assert analysis["dropped_events"] == 0
    assert (analysis["iterations"], analysis["timesteps"], analysis["total_timesteps"]) == (
        iterations,
        timesteps,
        timesteps,
    )
    main = next(process["process"] for process in analysis["processes"] if process["role"] == "main")
    rows = [row for row in analysis["breakdown"] if row["process"] == main]
    stages = {row["stage"] for row in rows}
    assert stages == {"(none)", "training_loop", "simulation", "inference", "backpropagation"}
    found = {row["operation"] for row in rows}
    assert operations | {"reset", "collect_data"} <= found
    collecting = {"collect_data", "replay_buffer_add", "sample_action"}
    assert {row["stage"] for row in rows if row["operation"] in collecting} == {"inference"}
    categories = {(row["stage"], row["category"]) for row in rows}
    assert {("backpropagation", "backend"), ("inference", "backend"), ("backpropagation", "python")} <= categories
    if env.startswith("Walker"):
        assert ("simulation", "simulator") in categories
        assert not any(
            stage != "simulation" and category == "simulator" for stage, category in categories if stage != "(none)"
        )
    crossings = recording.main_sweep()["crossings"]
    assert crossings.get("torch._C._EngineBase.run_backward", 0) > 0
    if env.startswith("Walker"):
        assert crossings["mujoco._functions.mj_step"] == timesteps


@pytest.mark.parametrize("algorithm", with_slow(["PPO", "TD3"], {"TD3"}))
def test_recording_does_not_change_what_is_learnt(algorithm: str, tmp_path: Path) -> None:
    arguments = ("train.py", algorithm, "--timesteps", "300" if algorithm == "TD3" else "512")
    plain = run_plain(*arguments)
    assert plain.returncode == 0, plain.stderr
    recorded = record(tmp_path / "trace", *arguments)
    assert recorded.stdout == plain.stdout
    assert recorded.returncode == 0


@pytest.mark.parametrize("method", with_slow(["fork", "forkserver"], {"forkserver"}))
def test_vector_environment_workers_are_processes_of_the_trace(method: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "train.py", "A2C", "--timesteps", 192, "--envs", 2, "--workers", method)
    assert recording.returncode == 0, recording.stderr
    analysis = recording.analysis
    workers = [p for p in analysis["processes"] if "Process-" in p["process"]]
    assert len(workers) == 2
    assert {process["role"] for process in workers} == {"worker"}
    pids = {process["pid"] for process in analysis["processes"]}
    for worker in workers:
        assert worker["complete"]
        assert worker["exit_status"] == 0
        assert worker["parent_pid"] in pids
        rows = [row for row in analysis["breakdown"] if row["process"] == worker["process"]]
        simulated = {row["category"] for row in rows if row["stage"] == "simulation"}
        assert {"simulator", "python"} <= simulated
        assert {row["category"] for row in rows if row["stage"] == "(none)"} >= {"wait", "python"}
        assert recording.sweep_of(worker["process"])["crossings"]["mujoco._functions.mj_step"] == 96
    main = next(p["process"] for p in analysis["processes"] if p["role"] == "main")
    assert recording.seconds(process=main, stage="simulation", category="wait") > 0
    roles = {process["role"] for process in analysis["processes"]}
    assert roles == ({"main", "worker", "infrastructure"} if method == "forkserver" else {"main", "worker"})


SEVERAL = """
import sys
from stable_baselines3 import PPO
make = lambda seed: PPO("MlpPolicy", "CartPole-v1", n_steps=32, n_epochs=1, batch_size=32, seed=seed, device="cpu")
if sys.argv[1] == "seeds":
    for seed in range(3): make(seed).learn(64)
else:
    model = make(1)
    for _ in range(3): model.learn(32, reset_num_timesteps=False)
"""


@pytest.mark.parametrize(("kind", "each"), [("seeds", 64), ("continued", 32)])
def test_timesteps_of_several_trainings_add_up(kind: str, each: int, tmp_path: Path) -> None:
    program = tmp_path / "several.py"
    program.write_text(SEVERAL)
    analysis = record(tmp_path / "trace", program, kind).analysis
    rows = [(row["training"], row["iterations"], row["timesteps"]) for row in analysis["trainings"]]
    assert rows == [(number, each // 32, each) for number in (1, 2, 3)]
    assert (analysis["iterations"], analysis["timesteps"]) == (3 * each // 32, 3 * each)
    assert analysis["total_timesteps"] == 3 * each
    assert analysis["extrapolated_s"] == pytest.approx(sum(row["seconds"] for row in analysis["trainings"]))


def test_no_auto_leaves_operations_to_the_program(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "train.py", "A2C", "--timesteps", 40, options=("--no-auto",))
    assert {row["operation"] for row in recording.analysis["breakdown"]} == {"(none)"}
    assert recording.analysis["iterations"] in (0, None)


def test_iterations_can_be_skipped_and_limited(tmp_path: Path) -> None:
    recording = record(
        tmp_path / "trace",
        "train.py",
        "A2C",
        "--timesteps",
        800,
        options=("--delay-iterations", "10", "--max-iterations", "20"),
    )
    assert recording.returncode == 0
    assert len(recording.stdout.strip()) == 64  # the program went on to its end
    analysis = recording.analysis
    assert (analysis["iterations"], analysis["timesteps"], analysis["total_timesteps"]) == (20, 160, 800)
    assert recording.main_sweep()["crossings"]["mujoco._functions.mj_step"] == 160
    # Recording begins inside the training loop, which was entered long before.
    assert {row["stage"] for row in analysis["breakdown"]} == {
        "training_loop",
        "simulation",
        "inference",
        "backpropagation",
    }
    assert analysis["extrapolated_s"] == pytest.approx(analysis["processes"][0]["wall_s"] * 5, rel=0.2)


def test_only_wanted_layers_are_recorded(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "train.py", "A2C", "--timesteps", 40, options=("--layers", "simulator"))
    assert {row["category"] for row in recording.analysis["breakdown"]} == {"python", "simulator"}


MID_TRAINING = """
import gymnasium
import rlscope
from rlscope.record import recorder
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback

class Record(BaseCallback):
    def _on_step(self):
        if self.n_calls == 7:
            recording.__enter__()
        if self.n_calls in (9, 12):
            print(len(recorder.active._libraries._single_file_scripts._handles))
        return True

recording = rlscope.profile("trace")
A2C("MlpPolicy", gymnasium.make("CartPole-v1"), n_steps=5, device="cpu").learn(20, callback=Record())
recording.__exit__(None, None, None)
"""


def test_nothing_is_guessed_once_a_library_reports_where_recording_began_in_the_middle(tmp_path: Path) -> None:
    """Recorded from step 7 on; at step 10 a rollout begins, and the library says so."""
    (tmp_path / "script.py").write_text(MID_TRAINING)
    finished = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert (finished.returncode, finished.stdout.split()) == (0, ["2", "0"]), finished.stderr
