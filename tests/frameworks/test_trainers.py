"""Libraries that people train with: stages are as long as by a stopwatch, and the same is learnt as unrecorded."""

import json
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from asked_for import with_slow
from framework_runs import ROOT, record_in, run_in
from recording import Recording

from rlscope import _analysis
from rlscope.model import STAGES

TRAINERS = ROOT / "tests" / "frameworks" / "trainers"
#: Both clocks see the same calls; what interrupts a program between the two is in one of them alone.
CLOCKS: dict[str, Any] = {"rel": 0.1, "abs": 0.02}
NO_JIT = {"NUMBA_DISABLE_JIT": "1"}  # numba would compile for 7 s
ON_POLICY = {("inference", "sample_action"), ("backpropagation", "compute_advantage_estimates")}
COLLECTING = {*ON_POLICY, ("inference", "collect_data")}
#: By script and its argument: operations, and the iterations and timesteps that are made.
TRAININGS: dict[str, tuple[set[tuple[str, str]], int | None, int | None]] = {
    "sb3_contrib MaskablePPO": ({*COLLECTING, ("simulation", "action_masks")}, 4, 2048),
    "sb3_contrib TQC": ({("inference", "replay_buffer_add"), ("backpropagation", "sample_batch")}, 250, 250),
    "sb3_contrib TRPO": ({*COLLECTING, ("backpropagation", "predict_values")}, 4, 2048),
    "rl_zoo": (COLLECTING, 40, 10240),
    "rsl_rl": ({*ON_POLICY, ("inference", "replay_buffer_add")}, 15, 15 * 24 * 256),
    "skrl PPO": ({("inference", "sample_action"), ("inference", "replay_buffer_add")}, 512, 512),
    "skrl DQN": ({("inference", "sample_action"), ("inference", "replay_buffer_add")}, 900, 900),
    "torchrl": ({("inference", "collect_data"), ("backpropagation", "compute_losses")}, 4, 1024),
    "tianshou": ({("inference", "collect_data"), ("backpropagation", "sample_batch")}, 84, 1008),
    "d3rlpy": ({("inference", "sample_action"), ("backpropagation", "sample_batch")}, 1000, 1000),
    "envpool": ({("simulation", "reset"), ("inference", "collect_data")}, 4, 2000),
    "supersuit": ({("simulation", "reset"), *COLLECTING}, 4, 1024),
    "xuance": ({("inference", "sample_action"), ("backpropagation", "sample_batch")}, 367, 800),
}
SLOW = {"sb3_contrib TQC", "sb3_contrib TRPO", "rl_zoo", "skrl DQN", "torchrl", "d3rlpy", "envpool"}
EVALUATING = {"tianshou", "d3rlpy", "rl_zoo", "envpool"}
#: Of the time since backpropagation began, the share that is in a stage; less where it is measured to be little more.
LEAST_SHARE = 0.95
LEAST_SHARES = {"skrl PPO": 0.94, "skrl DQN": 0.94, "tianshou": 0.94, "xuance": 0.75}


@pytest.mark.parametrize("training", with_slow(TRAININGS, SLOW))
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
    share = share_in_stages(recording)
    largest = max(abs(seconds[stage] / watched - 1) for stage, watched in printed["seconds"].items())
    # What docs/others.md has in its table: pytest -rP shows it.
    print(f"{training}: {share:.1%} in a stage, largest difference to the stopwatch {largest:.1%}")
    for stage, watched in printed["seconds"].items():
        assert seconds[stage] == pytest.approx(watched, **CLOCKS), stage
    assert operations <= {(row["stage"], row["operation"]) for row in analysis["breakdown"]}
    assert (analysis["iterations"], analysis["timesteps"]) == (iterations, timesteps)
    evaluated = {row["stage"] for row in analysis["breakdown"] if row["phase"] == "evaluation"} & set(STAGES)
    assert evaluated == ({"simulation", "inference"} if training in EVALUATING else set())
    assert share >= LEAST_SHARES.get(training, LEAST_SHARE)


def test_timesteps_of_torchrl_are_those_of_all_environments(tmp_path: Path) -> None:
    """Also of a collector that writes each step into a replay buffer by itself."""
    program = tmp_path / "collected.py"
    program.write_text(
        "import sys\n"
        "from torchrl.collectors import Collector\n"
        "from torchrl.data import LazyTensorStorage, ReplayBuffer\n"
        "from torchrl.envs import GymEnv, SerialEnv\n"
        "env = SerialEnv(4, lambda: GymEnv('CartPole-v1'))\n"
        "given = {'replay_buffer': ReplayBuffer(storage=LazyTensorStorage(800, ndim=1), batch_size=8),"
        " 'extend_buffer': False}\n"
        "collector = Collector(env, None, frames_per_batch=400, total_frames=800, **(given if sys.argv[1:] else {}))\n"
        "for _ in collector: pass\n"
        "collector.shutdown()\n"
    )
    for number, arguments in enumerate(((), ("directly",))):
        analysis = record_in("others", tmp_path / f"trace{number}", program, *arguments).analysis
        assert (analysis["iterations"], analysis["timesteps"]) == (2, 800)


def share_in_stages(recording: Recording) -> float:
    """Of the main process's time since backpropagation began, to the end of the training loop."""
    file = recording.main_file
    _, end = _analysis.sweep(file).loop or (0, 0)
    window = _analysis.event_window(file, 0, end, most_events=10**7)
    named = {key for key, (kind, name) in window.names.items() if (kind, name) == ("operation", "backpropagation")}
    began = min(
        start
        for thread in window.threads
        for start, name in zip(array("q", thread.starts), array("I", thread.names), strict=True)
        if name in named
    )
    detail = _analysis.sweep(file, borders=array("q", [began, end]).tobytes()).detail
    assert detail is not None
    ticks: Counter[str] = Counter()
    for period, series, spent in zip(
        array("I", detail.bins), array("I", detail.bin_series), array("q", detail.bin_ticks), strict=True
    ):
        if period == 1:
            ticks[detail.series[series].stage] += spent
    return sum(ticks[stage] for stage in STAGES) / (end - began)


def seconds_of(recording: Recording) -> Counter[str]:
    """The seconds of each stage, in evaluations as well, without those of garbage collection."""
    seconds: Counter[str] = Counter()
    for row in recording.analysis["breakdown"]:
        if row["operation"] != "garbage_collection":
            seconds[row["stage"]] += row["seconds"]
    return seconds


def test_the_simulator_in_envpool_is_its_c_plus_plus(tmp_path: Path) -> None:
    program = tmp_path / "stepped.py"
    program.write_text(
        "import envpool, numpy as np\n"
        "pool = envpool.make('CartPole-v1', env_type='gymnasium', num_envs=20, seed=7, num_threads=1)\n"
        "pool.reset()\n"
        "for _ in range(60): pool.step(np.zeros(20, int))\n"
    )
    recording = record_in("others", tmp_path / "trace", program)
    crossings = recording.main_sweep()["crossings"]
    pool = "envpool.classic_control.classic_control_envpool._CartPoleEnvPool"
    assert (crossings[f"{pool}._send"], crossings[f"{pool}._recv"]) == (60, 61)
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


@pytest.mark.parametrize(("argument", "is_again"), [("2", False), ("1.5", True)])
def test_numba_compiles_again_for_other_types_alone(argument: str, is_again: bool, tmp_path: Path) -> None:
    program = tmp_path / "compiled.py"
    program.write_text(f"import numba\n@numba.njit\ndef double(x): return 2 * x\ndouble(1)\ndouble({argument})\n")
    recording = record_in("others", tmp_path / "trace", program)
    took = recording.main_sweep()["properties"]["compiling"]
    assert took["ns"] > 0 and (took["again_ns"] > 0) == is_again


@pytest.mark.parametrize(
    ("name", "operation", "function", "calls"),
    [
        ("brax", ("(none)", "simulation+inference+backpropagation"), "iterate", 10),
        pytest.param("playground", ("simulation", "simulation"), "step", 20, marks=pytest.mark.slow),
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
