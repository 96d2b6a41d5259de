"""Trainings whose environments are stepped all at once: stages that nobody names, and iterations that are timed."""

from collections.abc import Callable
from typing import Any

import pytest
from framework_runs import WORKLOADS, record_in
from recording import Recording

ENVIRONMENTS, STEPS, ITERATIONS = 16, 2, 4
#: Iterations 3 and 4: whatever is compiled has been by then.
WINDOW = ("--delay-iterations", "2", "--max-iterations", "2")
SIZES = (
    "--environments", ENVIRONMENTS, "--steps", STEPS, "--stop-after", ENVIRONMENTS * STEPS * ITERATIONS,
)  # fmt: skip


def entries(recording: Recording) -> dict[str, int]:
    """Entries from Python into the backend, by the stage or, where there is none, the operation."""
    found: dict[str, int] = {}
    for row in recording.analysis["transitions"]:
        if (row["from"], row["to"]) == ("python", "backend"):
            name = row["operation"] if row["stage"] == "training_loop" else row["stage"]
            found[name] = found.get(name, 0) + row["count"]
    return found


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("parts", {"inference": STEPS, "simulation": STEPS, "backpropagation": 2}),
        pytest.param("whole", {"simulation+inference+backpropagation": 2}, marks=pytest.mark.slow),
    ],
)
def test_brax_in_parts_and_in_one_call(
    calls: str, expected: dict[str, int], record_pytorch: Callable[..., Recording]
) -> None:
    """Of an iteration: a call for each step's parts and one for all updates, or one for all; and the wait for that."""
    arguments = ("--env", "Brax inverted_pendulum", "--calls", calls, *SIZES)
    recording = record_pytorch(WORKLOADS / "brax_ppo.py", *arguments, options=WINDOW)
    assert entries(recording) == {name: 2 * count for name, count in expected.items()}
    found = recording.printed
    assert (found["environments"], found["physics_steps"], len(found["iteration_s"])) == (ENVIRONMENTS, 4, ITERATIONS)
    assert (recording.analysis["iterations"], recording.analysis["timesteps"]) == (2, 2 * ENVIRONMENTS * STEPS)


def test_rsl_rl(tmp_path: Any) -> None:
    variables = {"OMP_NUM_THREADS": "1"}
    recording = record_in(
        "others", tmp_path / "trace", WORKLOADS / "rsl_rl_train.py", *SIZES, options=WINDOW, **variables
    )
    found = entries(recording)
    assert {"simulation", "inference", "backpropagation"} <= set(found)
    assert found["simulation"] % (2 * STEPS) == 0
    assert len(recording.printed["iteration_s"]) == ITERATIONS
    assert (recording.analysis["iterations"], recording.analysis["timesteps"]) == (2, 2 * ENVIRONMENTS * STEPS)
