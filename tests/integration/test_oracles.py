"""What was recorded is held against independent measurements of the same run."""

import json
from collections import Counter
from pathlib import Path

import pytest
from recording import record, run_plain

from rlscope import _analysis
from rlscope.analysis.analysis import analyze
from rlscope.trace.reader import open_trace

TOLERANCE = 0.03
#: torch.Tensor's unary operators are these methods.
OPERATORS = {"neg", "positive", "abs"}
CATEGORY = {
    "python": "python",
    "torch": "backend",
    "callback": "python",
    "mujoco": "simulator",
    "pybullet": "simulator",
    "ale": "simulator",
    "box2d": "simulator",
    "blocking": "wait",
}


def shortened(crossing: str) -> str:
    """`torch._C.TensorBase.add` -> `add`."""
    return crossing.rsplit(".", 1)[1]


@pytest.mark.parametrize("library", ["torch", "mujoco", "pybullet", "ale", "box2d", "gym"])
def test_crossings_are_the_calls_that_the_interpreter_sees(library: str, tmp_path: Path) -> None:
    counted = run_plain("count_calls.py", library, tmp_path / "trace")
    assert counted.returncode == 0, counted.stderr
    seen = Counter(json.loads(counted.stdout.splitlines()[-1]))
    crossings: Counter[str] = Counter()
    (path,) = (tmp_path / "trace").glob("*.rlscope")
    prefix = {"ale": "ale_py.", "box2d": "Box2D.", "gym": "mujoco."}.get(library, f"{library}.")
    for crossing, count in vars(_analysis.sweep(str(path)))["crossings"].items():
        # Operators and indexing reach methods without a call that sys.setprofile reports.
        is_operator = shortened(crossing).startswith("__") or shortened(crossing) in OPERATORS
        if crossing.startswith(prefix) and not is_operator:
            crossings[shortened(crossing)] += count
    assert sum(crossings.values()) > 100
    assert crossings == {name: seen[name] for name in crossings}


@pytest.mark.parametrize("library", CATEGORY)
def test_known_times(library: str, tmp_path: Path) -> None:
    # The operations are the program's own: nothing is to be guessed inside them.
    recording = record(tmp_path / "trace", "known_times.py", library, options=("--no-auto",))
    assert recording.returncode == 0, recording.stderr
    # PyBullet prints too, from a buffer of its own that may be written last.
    known = json.loads(next(line for line in recording.stdout.splitlines() if line.startswith("{")))
    assert known
    for operation, seconds in known.items():
        measured = recording.layer_seconds(CATEGORY[library], operation=operation)
        assert measured == pytest.approx(seconds, rel=TOLERANCE), operation


def test_hooks_find_what_a_user_would_annotate(tmp_path: Path) -> None:
    finished = run_plain("annotated.py", tmp_path)
    assert finished.returncode == 0, finished.stderr
    stopwatch = json.loads(finished.stdout)
    by_hooks, by_hand = (seconds_per_stage(tmp_path / way) for way in ("by_hooks", "by_hand"))
    assert set(by_hooks) == set(by_hand) == {"simulation", "inference", "backpropagation", "training_loop"}
    for stage in ("simulation", "inference", "backpropagation"):
        # Two executions are never equally long: each way is held against the stopwatch of its own.
        hooks = by_hooks[stage] * 1e9 / stopwatch["by_hooks"][stage]
        hand = by_hand[stage] * 1e9 / stopwatch["by_hand"][stage]
        assert hand == pytest.approx(1, rel=TOLERANCE), stage
        assert hooks == pytest.approx(hand, rel=TOLERANCE), stage
    for way, recorded in (("by_hooks", by_hooks), ("by_hand", by_hand)):
        assert sum(recorded.values()) * 1e9 == pytest.approx(sum(stopwatch[way].values()), rel=TOLERANCE)


def seconds_per_stage(traces: Path) -> dict[str, float]:
    """Seconds of each stage over all traces, without what lies outside the training loop."""
    seconds: Counter[str] = Counter()
    for directory in traces.iterdir():
        for row in analyze(open_trace(directory)).breakdown.table.itertuples():
            seconds[row.stage] += row.seconds
    del seconds["(none)"]
    return dict(seconds)
