"""Scripts of which only networks' calls, backward and step are known: nothing counts for what lies between."""

from pathlib import Path

import pytest
from asked_for import with_slow
from recording import record

#: Loops of tests/scripts/unfamiliar_loops.py, with the smallest share of the update that backpropagation may have.
LOOPS = {
    "unknown_environment": 0.8,
    "gradients_left_on": 0.8,
    "drawn_actions": 0.8,
    "validation": 0.8,
    "rollout_before_training": 0.8,
    "thread_that_acts": 0.8,
    "generation": 0.8,
    "generation_with_gradients": 0.8,
    "rollout_that_is_learnt_from": 0.5,  # stacking and squaring all outputs comes before backward
}
#: Those that say least besides the others.
SLOW = {"gradients_left_on", "drawn_actions", "rollout_before_training", "generation_with_gradients"}
#: The program's stopwatch and the recorder's clock may differ by this much.
CLOCKS = 1.01
#: The first time that a place is met, its call is inference: here that of one update.
FIRST_CALL_S = 0.05


@pytest.mark.parametrize("loop", with_slow(LOOPS, SLOW))
def test_a_stage_is_never_longer_than_what_was_seen(loop: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "unfamiliar_loops.py", loop)
    assert recording.returncode == 0, recording.stderr
    stopwatch = {stage: ns / 1e9 for stage, ns in recording.printed.items()}
    inference, backpropagation = (recording.seconds(stage=stage) for stage in ("inference", "backpropagation"))
    assert 0.7 * stopwatch["inference"] < inference < CLOCKS * stopwatch["inference"] + FIRST_CALL_S
    assert LOOPS[loop] * stopwatch["backpropagation"] < backpropagation < CLOCKS * stopwatch["backpropagation"]
    assert recording.main_sweep()["misnested_operations"] == 0
