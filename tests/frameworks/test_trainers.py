"""Libraries that people train with: stages are as long as by a stopwatch, and the same is learnt as unrecorded."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from framework_runs import ROOT, python_of, record_in, run_in
from recording import Recording

from rlscope.model import STAGES

TRAINERS = ROOT / "tests" / "frameworks" / "trainers"
#: Both clocks see the same calls; what interrupts a program between the two is in one of them alone.
CLOCKS: dict[str, Any] = {"rel": 0.1, "abs": 0.02}
NO_JIT = {"NUMBA_DISABLE_JIT": "1"}  # numba would compile for 7 s
ON_POLICY = {("inference", "sample_action"), ("backpropagation", "compute_advantage_estimates")}
#: By script and its argument: operations, and the iterations and timesteps that are made.
TRAININGS: dict[str, tuple[set[tuple[str, str]], int | None, int | None]] = {
    "sb3_contrib MaskablePPO": ({*ON_POLICY, ("simulation", "action_masks")}, 4, 2048),
    "sb3_contrib TRPO": ({*ON_POLICY, ("backpropagation", "predict_values")}, 4, 2048),
    "rsl_rl": ({*ON_POLICY, ("inference", "replay_buffer_add")}, 15, 15 * 24 * 256),
    "skrl PPO": ({("inference", "sample_action"), ("inference", "replay_buffer_add")}, 512, 512),
    "skrl DQN": ({("inference", "sample_action"), ("inference", "replay_buffer_add")}, 400, 400),
    "torchrl": ({("inference", "collect_data"), ("backpropagation", "compute_losses")}, 4, 1024),
    "tianshou": ({("inference", "collect_data"), ("backpropagation", "sample_batch")}, 84, 1008),
    "d3rlpy": ({("inference", "sample_action"), ("backpropagation", "sample_batch")}, None, None),
    "envpool": ({("simulation", "reset")}, None, None),
}
EVALUATING = {"tianshou", "d3rlpy"}


@pytest.mark.parametrize("training", TRAININGS)
def test_stages_are_as_long_as_by_a_stopwatch(training: str, tmp_path: Path) -> None:
    operations, iterations, timesteps = TRAININGS[training]
    name, *arguments = training.split()
    program, environment = TRAINERS / f"{name}_few.py", "d3rlpy" if name == "d3rlpy" else "others"
    plain = run_in(environment, program, *arguments, cwd=tmp_path, **NO_JIT)
    assert plain.returncode == 0, plain.stderr[-4000:]
    recording = record_in(environment, tmp_path / "trace", program, *arguments, cwd=tmp_path, **NO_JIT)
    printed, printed_plain = (json.loads(each.stdout.splitlines()[-1]) for each in (recording, plain))
    assert printed["learnt"] == printed_plain["learnt"]
    analysis = recording.analysis
    assert analysis["complete"]
    seconds = seconds_of(recording)
    assert {"simulation", "backpropagation"} <= set(printed["seconds"])
    for stage, watched in printed["seconds"].items():
        assert seconds[stage] == pytest.approx(watched, **CLOCKS), stage
    assert operations <= {(row["stage"], row["operation"]) for row in analysis["breakdown"]}
    assert (analysis["iterations"], analysis["timesteps"]) == (iterations, timesteps)
    evaluated = any(row["phase"] == "evaluation" and row["stage"] in STAGES for row in analysis["breakdown"])
    assert evaluated == (training in EVALUATING)


def seconds_of(recording: Recording) -> Counter[str]:
    """The seconds of each stage, in evaluations as well."""
    seconds: Counter[str] = Counter()
    for row in recording.analysis["breakdown"]:
        seconds[row["stage"]] += row["seconds"]
    return seconds


def test_the_simulator_in_envpool_is_its_c_plus_plus(tmp_path: Path) -> None:
    recording = record_in("others", tmp_path / "trace", TRAINERS / "envpool_few.py", cwd=tmp_path)
    crossings = recording.main_sweep()["crossings"]
    pool = "envpool.classic_control.classic_control_envpool._CartPoleEnvPool"
    assert (crossings[f"{pool}._send"], crossings[f"{pool}._recv"]) == (60 * 20, 60 * 20 + 1)
    assert recording.seconds(stage="simulation", category="simulator") > 0


def test_what_numba_compiles(tmp_path: Path) -> None:
    program = tmp_path / "compiled.py"
    program.write_text(
        "import numba\n@numba.njit\ndef double(x): return 2 * x\nprint(double(1) + double(2) + double(1.5))\n"
    )
    recording = record_in("others", tmp_path / "trace", program)
    assert recording.stdout.split() == ["9.0"]
    assert recording.main_sweep()["events"]["operation"] >= 2  # for whole numbers, and for floats
    assert recording.seconds(operation="compile", category="python") > 0


def test_rl_baselines3_zoo(tmp_path: Path) -> None:
    """Its command, which tests the policy with an `EvalCallback`."""
    options = "--algo ppo --env CartPole-v1 --n-timesteps 2048 --seed 7 --device cpu --eval-freq 1024 --eval-episodes 2"
    words = ("-m", "rl_zoo3.train", *options.split(), "--log-folder", tmp_path)
    command = ("-m", "rlscope", "record", "-o", tmp_path / "trace", "--", python_of("others"), *words)
    finished = run_in("others", *command, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr[-4000:]
    recording = Recording(tmp_path / "trace", finished.returncode, finished.stdout, finished.stderr)
    analysis = recording.analysis
    (reported,) = re.findall(r"total_timesteps +\| (\d+)", finished.stdout)[-1:]
    assert analysis["timesteps"] == int(reported) == 2048
    by_phase = {(row["phase"], row["stage"]) for row in analysis["breakdown"]}
    assert {("(none)", stage) for stage in (*STAGES[:3], "training_loop")} <= by_phase
    assert {("evaluation", stage) for stage in ("simulation", "inference")} <= by_phase
    assert ("evaluation", "backpropagation") not in by_phase


@pytest.mark.parametrize(
    ("name", "operation", "function", "calls"),
    [
        ("brax", ("(none)", "simulation+inference+backpropagation"), "iterate", 10),
        ("playground", ("simulation", "simulation"), "step", 20),
    ],
)
def test_what_is_compiled_into_one_function_is_one_operation(
    name: str, operation: tuple[str, str], function: str, calls: int, tmp_path: Path
) -> None:
    """How the time of one call is divided between its stages nobody can say."""
    program = TRAINERS / f"{name}_few.py"
    plain = run_in("pytorch", program)
    assert plain.returncode == 0, plain.stderr[-4000:]
    recording = record_in("pytorch", tmp_path / "trace", program)
    assert recording.stdout == plain.stdout
    assert operation in {(row["stage"], row["operation"]) for row in recording.analysis["breakdown"]}
    assert recording.main_sweep()["crossings"][f"jax.jit({function})"] == calls


def test_kernels_and_graphs_of_warp_are_a_simulator(tmp_path: Path) -> None:
    program, cache = TRAINERS / "warp_few.py", {"WARP_CACHE_PATH": str(tmp_path / "cache")}
    recording = record_in("others", tmp_path / "trace", program, **cache)
    assert recording.stdout.splitlines()[-1] == run_in("others", program, **cache).stdout.splitlines()[-1] == "22.0"
    crossings = recording.main_sweep()["crossings"]
    assert (crossings["warp.advance"], crossings["warp.capture_launch"]) == (10 + 7, 5)
    assert recording.seconds(category="simulator") > 0
    assert recording.seconds(operation="compile") > 0
