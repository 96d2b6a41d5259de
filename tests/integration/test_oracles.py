"""What was recorded is held against independent measurements of the same run."""

import json
from collections import Counter
from pathlib import Path

import pytest
from recording import record, run_plain

from rlscope import _analysis

TOLERANCE = 0.03
#: torch.Tensor's unary operators are these methods.
OPERATORS = {"neg", "positive", "abs"}
CATEGORY = {"python": "python", "torch": "backend", "mujoco": "simulator", "pybullet": "simulator", "blocking": "wait"}


def shortened(crossing: str) -> str:
    """`torch._C.TensorBase.add` -> `add`."""
    return crossing.rsplit(".", 1)[1]


@pytest.mark.parametrize("library", ["torch", "mujoco", "pybullet"])
def test_crossings_are_the_calls_that_the_interpreter_sees(library: str, tmp_path: Path) -> None:
    counted = run_plain("count_calls.py", library, tmp_path / "trace")
    assert counted.returncode == 0, counted.stderr
    seen = Counter(json.loads(counted.stdout.splitlines()[-1]))
    crossings: Counter[str] = Counter()
    (path,) = (tmp_path / "trace").glob("*.rlscope")
    prefix = {"torch": "torch.", "mujoco": "mujoco.", "pybullet": "pybullet."}[library]
    for crossing, count in _analysis.sweep(str(path))["crossings"].items():
        # Operators and indexing reach methods without a call that sys.setprofile reports.
        is_operator = shortened(crossing).startswith("__") or shortened(crossing) in OPERATORS
        if crossing.startswith(prefix) and not is_operator:
            crossings[shortened(crossing)] += count
    assert sum(crossings.values()) > 100
    assert crossings == {name: seen[name] for name in crossings}


@pytest.mark.parametrize("library", CATEGORY)
def test_known_times(library: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "known_times.py", library)
    assert recording.returncode == 0, recording.stderr
    known = json.loads(recording.stdout.splitlines()[-1])
    assert known
    for operation, seconds in known.items():
        measured = recording.seconds(operation=operation, category=CATEGORY[library])
        assert measured == pytest.approx(seconds, rel=TOLERANCE), operation
