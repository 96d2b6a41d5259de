"""TensorFlow and TF-Agents: known times, counts and stages, and programs that notice nothing."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from asked_for import with_slow
from framework_runs import PROGRAMS, WORKLOADS, assert_callbacks, record_in, run_in
from recording import Recording

from rlscope import _analysis
from rlscope.model import PUBLISHED_STAGES

TOLERANCE = 0.05
Record = Callable[..., Recording]

COMPUTED = ("operation", "operator", "gradient", "compiled", "concrete", "dataset", "session")
CALLED_BACK = ("numpy_function", "py_function", "custom_gradient")
ARRAYS = ("to_tensor", "to_array", "as_array")


def by_stage(recording: Recording, source: str, target: str) -> Counter[str]:
    """Crossings from one category into another by stage, but for those of tracing."""
    counts: Counter[str] = Counter()
    for (stage, operation), count in recording.entries(source, target).items():
        if operation != "compile":
            counts[stage] += count
    return counts


def test_known_times_and_counts(record_tensorflow: Record) -> None:
    recording = record_tensorflow("tensorflow_known.py", options=("--no-auto",))
    printed = recording.printed
    seconds, calls = printed["seconds"], printed["calls"]
    for name in COMPUTED:
        measured = recording.layer_seconds("backend", operation=name)
        assert measured == pytest.approx(seconds[name], rel=TOLERANCE), name
    for name in CALLED_BACK:  # Python again, on whichever thread
        assert_callbacks(recording, printed, name, "python")
    assert_callbacks(recording, printed, "simulator", "simulator")
    assert printed["other_threads"] >= 1
    into_backend, back = (recording.entries(*way) for way in (("python", "backend"), ("backend", "python")))
    for name in ("operation", "operator", "compiled", "concrete", "dataset", "session", *ARRAYS):
        assert into_backend["(none)", name] == calls[name], name
    assert back["(none)", "numpy_function"] == 3 * calls["numpy_function"]
    assert back["(none)", "py_function"] == calls["py_function"]
    # A tape asks Python for the first gradient, for those of operations, and to add those of one tensor.
    assert back["(none)", "custom_gradient"] == 2 * calls["custom_gradient"]
    assert back["(none)", "gradient"] == 3 * calls["gradient"]
    assert recording.entries("python", "simulator")["(none)", "simulator"] == 3 * calls["simulator"]


def test_crossings_are_the_calls_that_the_interpreter_sees(tmp_path: Path) -> None:
    finished = run_in("tensorflow", PROGRAMS / "tensorflow_counts.py", tmp_path / "trace")
    assert finished.returncode == 0, finished.stderr[-4000:]
    seen = json.loads(finished.stdout.splitlines()[-1])
    (path,) = (tmp_path / "trace").glob("*.rlscope")
    crossings: Counter[str] = Counter()
    for crossing, count in vars(_analysis.sweep(str(path)))["crossings"].items():
        crossings[crossing.rsplit(".", 1)[1]] += count
    assert sum(seen.values()) > 1000
    assert seen == {name: crossings[name] for name in seen}


def test_a_compiled_function_is_what_was_met_in_it(record_tensorflow: Record) -> None:
    recording = record_tensorflow("tensorflow_stages.py", options=("--delay-iterations", "1"))
    printed = recording.printed
    seconds, calls = printed["seconds"], printed["calls"]
    into_backend = recording.entries("python", "backend")
    for stage, operation in (
        ("backpropagation", "backpropagation"),
        ("inference", "sample_action"),
        ("(none)", "inference+backpropagation"),  # nobody can say how the time of one call is divided
    ):
        traced_again = operation == "backpropagation"
        assert into_backend.pop((stage, operation)) == calls[operation] + traced_again
        assert recording.seconds(stage=stage, operation=operation) == pytest.approx(
            seconds[operation], rel=TOLERANCE
        ), operation
    assert into_backend["(none)", "(none)"] == calls["neither"] + calls["step"]
    # Called back on another thread, with an operation of its own there.
    assert recording.entries("backend", "python")["(none)", "(none)"] == calls["simulation"] == calls["step"]
    measured = recording.layer_seconds("python", stage="simulation", operation="simulation")
    assert measured == pytest.approx(seconds["simulation"], rel=TOLERANCE)
    # Tracing is no work of the stage that is traced, but of one that is open: it was known when it was traced again.
    tracing = recording.layer_seconds("python", stage="backpropagation", operation="compile")
    assert printed["tracing_seconds"] <= tracing == recording.layer_seconds("python", operation="compile")


def test_tracing_is_an_operation_of_its_own(record_tensorflow: Record) -> None:
    recording = record_tensorflow("tensorflow_stages.py")
    printed = recording.printed
    before = recording.layer_seconds("python", stage="(none)", operation="compile")
    assert before >= 2 * printed["tracing_seconds"]
    # The first call, which traces the function, is in the stage that was met in it from there on.
    assert recording.entries("python", "backend")["inference", "sample_action"] == printed["calls"]["sample_action"] + 1


@pytest.mark.slow
def test_hooks_find_what_a_user_would_annotate(tmp_path: Path) -> None:
    into_backend = {}
    for way, options in (("by_hand", ("--no-auto",)), ("by_hooks", ())):
        options = (*options, "--delay-iterations", "1")
        recording = record_in("tensorflow", tmp_path / way, "annotated_tf_agents.py", way, options=options)
        # Two executions are never equally long: each is held against the stopwatch of its own.
        stopwatch = recording.printed
        for stage in PUBLISHED_STAGES:
            assert recording.seconds(stage=stage) == pytest.approx(stopwatch[stage], rel=TOLERANCE), (way, stage)
        into_backend[way] = by_stage(recording, "python", "backend")
    by_hand, by_hooks = into_backend["by_hand"], into_backend["by_hooks"]
    assert by_hand.total() == by_hooks.total()
    for stage in ("inference", "backpropagation"):
        assert by_hooks[stage] == pytest.approx(by_hand[stage], rel=0.01), stage


@pytest.mark.parametrize("mode", with_slow(["graph", "autograph", "eager"], {"autograph", "eager"}))
def test_workload(mode: str, record_tensorflow: Record) -> None:
    algorithm = ("--algo", "ddpg", "--env", "Walker2d-v5", "--warm-up", "100", "--stop-after", "300")
    arguments = (WORKLOADS / "tf_agents_train.py", "--mode", mode, *algorithm)
    recording = record_tensorflow(*arguments)
    analysis = recording.analysis
    assert (analysis["complete"], analysis["dropped_events"]) == (True, 0)
    assert (analysis["iterations"], analysis["timesteps"], analysis["total_timesteps"]) == (3, 300, 2_000_000)
    simulated = {row["stage"] for row in analysis["breakdown"] if row["category"] == "simulator"}
    assert simulated <= {"simulation", "(none)"}
    swept = recording.main_sweep()
    assert swept["misnested_operations"] == 0
    crossings = swept["crossings"]
    resets = crossings["mujoco._functions.mj_resetData"] - 2  # the environment is reset when it is made, and by make()
    steps_and_resets = 300 + resets
    assert crossings["mujoco._functions.mj_step"] == 300
    into_backend, back = by_stage(recording, "python", "backend"), by_stage(recording, "backend", "python")
    if mode == "graph":
        assert into_backend["backpropagation"] == 2 * 50
        assert into_backend["inference"] >= 2 * steps_and_resets
    elif mode == "autograph":
        assert into_backend["backpropagation"] == 2
        assert into_backend["inference"] == 3
        assert back["inference"] >= steps_and_resets
    else:
        assert into_backend["backpropagation"] > 100 * 2 * 50
        assert into_backend["inference"] > 20 * steps_and_resets
    learnt, learnt_unrecorded = (
        [line for line in output.splitlines() if "seconds" not in line]
        for output in (recording.stdout, run_in("tensorflow", *arguments).stdout)
    )
    assert learnt == learnt_unrecorded
    assert len(learnt) >= 2
