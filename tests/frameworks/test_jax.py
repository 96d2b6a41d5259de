"""JAX, its environments and SBX: known times, counts and stages, and programs that notice nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from framework_runs import PROGRAMS, assert_callbacks, run_in
from recording import Recording

from rlscope.model import PUBLISHED_STAGES

TOLERANCE = 0.05
Record = Callable[..., Recording]

COMPUTED = ("block_until_ready", "numpy", "item")
CALLED_BACK = ("pure_callback", "io_callback", "debug_callback")


def backend_entries(recording: Recording) -> dict[tuple[str, str], int]:
    """How often Python entered the backend, by stage and operation."""
    return {
        (row["stage"], row["operation"]): row["count"]
        for row in recording.analysis["transitions"]
        if (row["from"], row["to"]) == ("python", "backend")
    }


@pytest.fixture
def known(record_pytorch: Record) -> tuple[Recording, dict]:
    recording = record_pytorch("jax_known.py")
    return recording, recording.printed


def test_known_times_and_counts(known: tuple[Recording, dict]) -> None:
    recording, printed = known
    for name in COMPUTED:
        assert recording.layer_seconds("backend", operation=name) == pytest.approx(
            printed["seconds"][name], rel=TOLERANCE
        ), name
    for name in CALLED_BACK:  # Python again
        assert_callbacks(recording, printed, name, "python")
    crossings = recording.main_sweep()["crossings"]
    # Each is called once before it is timed; `multiply` also while `total` is traced.
    assert crossings["jax.jit(multiply)"] == 1 + 2 * printed["calls"]["block_until_ready"] + 1
    assert crossings["jax.jit(total)"] == 1 + printed["calls"]["item"]
    assert crossings["jax.jit(pure)"] == 1 + printed["calls"]["pure_callback"]
    assert crossings["jax.jit(new)"] == printed["calls"]["compiling"]


def test_compiling_is_an_operation_of_its_own(known: tuple[Recording, dict]) -> None:
    recording, printed = known
    compiling = recording.seconds(operation="compile")
    assert recording.seconds(operation="compile", category="python") > 0  # traced and lowered
    assert recording.layer_seconds("backend", operation="compile") > 0.2 * compiling
    # The function that is new each time was compiled before but for the first.
    took = recording.main_sweep()["properties"]["compiling"]
    assert 0 < took["again_ns"] < took["ns"]
    # What is left under the operation that compiles each time is the computation and what JAX does around it.
    whole = printed["seconds"]["compiling"]
    assert recording.seconds(operation="compiling") < 0.6 * whole


def test_a_compiled_function_is_in_the_stage_that_was_met_in_it(record_pytorch: Record) -> None:
    recording = record_pytorch("jax_stages.py")
    printed = recording.printed
    entries = backend_entries(recording)
    calls = printed["calls"]
    # Whoever annotates knows better: a call of the network, and the wait for it.
    assert entries.pop(("backpropagation", "targets")) == 2
    for stage in PUBLISHED_STAGES:
        # A wait for each call; what a function computes is run by Python the first time, which copies constants before.
        assert entries.pop((stage, stage)) >= 2 * calls[stage]
        seconds = recording.layer_seconds("backend", operation=stage)
        # Calls of 50 us: whoever interrupts one between the stopwatch and the boundary adds more than all of them take.
        assert 0.8 * printed["least_seconds"][stage] <= seconds <= (1 + TOLERANCE) * printed["seconds"][stage], stage
    # Nobody can say how the time of one call is divided between what it does.
    assert entries.pop(("(none)", "simulation+inference")) >= 2 * calls["simulation+inference"]
    assert entries[("(none)", "(none)")] >= 2 * calls["neither"]
    assert recording.seconds(stage="simulation", category="simulator") == 0
    assert printed["alive"] == 0, "recording keeps compiled functions alive"
    assert printed["looks"] == ["apply", "(w, x)", "module"]


def test_a_training_in_one_call_is_in_its_operation_from_the_first_call_on(record_pytorch: Record) -> None:
    recording = record_pytorch("jax_once.py")
    first, second = recording.printed["seconds"]
    assert recording.printed["results"][0] > 0
    operation = "simulation+backpropagation"
    # Each call, what runs a function that is new, what that copies before, and the two waits.
    assert backend_entries(recording)["(none)", operation] == 5
    # The first call does the same as the second, after it was compiled.
    found = recording.layer_seconds("backend", operation=operation)
    assert found >= second * (1 - TOLERANCE)
    compiling = sum(recording.seconds(operation="compile", category=category) for category in ("backend", "python"))
    no_core = recording.seconds(category="no_core")
    assert found + compiling == pytest.approx(first + second, abs=TOLERANCE * (first + second) + no_core)


def test_networks_written_by_hand_act_and_learn(record_pytorch: Record) -> None:
    recording = record_pytorch("jax_acting.py")
    printed = recording.printed
    inside = [row for row in recording.analysis["breakdown"] if row["phase"] == "measured"]
    took = sum(row["seconds"] for row in inside)
    seconds = printed["seconds"]
    seconds["inference"] -= seconds["reading"]
    for stage in PUBLISHED_STAGES:
        found = sum(row["seconds"] for row in inside if row["stage"] == stage)
        assert found / took == pytest.approx(seconds[stage] / took, abs=0.03), stage
    crossings = recording.main_sweep()["crossings"]
    assert crossings["jax.jit(choose)"] >= printed["turns"]


def test_sbx_has_the_operations_of_stable_baselines3(record_pytorch: Record) -> None:
    recording = record_pytorch("sbx_few.py")
    printed = recording.printed
    analysis = recording.analysis
    operations = {(row["stage"], row["operation"]) for row in analysis["breakdown"]}
    for operation in (
        ("training_loop", "training_loop"),
        ("simulation", "simulation"),
        ("inference", "sample_action"),
        ("inference", "collect_data"),
        ("inference", "replay_buffer_add"),
        ("backpropagation", "backpropagation"),
        ("backpropagation", "sample_batch"),
        ("backpropagation", "compute_advantage_estimates"),
        ("inference", "compile"),
        ("backpropagation", "compile"),
    ):
        assert operation in operations, operation
    assert {row["stage"] for row in analysis["breakdown"] if row["operation"] == "simulation"} == {"simulation"}
    crossings = recording.main_sweep()["crossings"]
    assert crossings["jax.jit(select_action)"] == printed["actions"]
    assert crossings["jax.jit(_predict_all)"] == printed["rollout_steps"]
    assert crossings["jax.jit(_train)"] == printed["off_policy_updates"]
    assert analysis["iterations"] == printed["iterations"]


def test_boundaries_need_no_operations(record_pytorch: Record) -> None:
    recording = record_pytorch("jax_known.py", options=("--no-auto",))
    printed = recording.printed
    assert recording.seconds(operation="compile") == 0
    assert recording.main_sweep()["crossings"]["jax.jit(new)"] == printed["calls"]["compiling"]
    for name in CALLED_BACK:  # Python again
        assert_callbacks(recording, printed, name, "python")


def test_what_was_compiled_before_a_recording_is_found_and_given_back(tmp_path: Path) -> None:
    traces = [tmp_path / "first", tmp_path / "second"]
    finished = run_in("pytorch", PROGRAMS / "jax_then_record.py", *traces)
    assert finished.returncode == 0, finished.stderr
    assert float(finished.stdout) == 3 * (1 + 1 + 3 * (10 + 3 + 2))
    for trace, calls in zip(traces, (10, 3), strict=True):
        crossings = Recording(trace, 0, "", "").sweeps()[0]["crossings"]
        assert crossings["jax.jit(early)"] == calls
        assert crossings["jax.jit(<lambda>)"] == calls


#: The main thread holds JAX's lock of clients, as it does while it makes one of several.
LOCKED = """
import time
import jax
import rlscope
jax.devices()
with jax._src.xla_bridge._backend_lock:
    for _ in range(200):
        with rlscope.operation("inference"):
            time.sleep(0.002)
print("went on")
"""


def test_memory_is_looked_at_without_a_lock_of_jax(record_pytorch: Record, tmp_path: Path) -> None:
    script = tmp_path / "locked.py"
    script.write_text(LOCKED)
    recording = record_pytorch(script)
    assert recording.stdout == "went on\n"
    assert sum(row["samples"] for row in recording.analysis["memory"]) >= 3
