"""verl's own timers: each known name is its stage and operation; another one is what the user names it."""

from collections import Counter
from collections.abc import Callable

import pytest
from recording import Recording

TOLERANCE = 0.05
OPERATIONS = {
    "gen": ("inference", "generate"),
    "reward": ("simulation", "reward"),
    "values": ("inference", "predict_values"),
    "adv": ("backpropagation", "advantages"),
    "update_critic": ("backpropagation", "update_critic"),
    "update_actor": ("backpropagation", "update_actor"),
    "update_weights": ("synchronisation", "sync_weights"),
    "switch_to_trainer": ("synchronisation", "switch_to_trainer"),
    "switch_wait": ("training_loop", "wait_for_batch"),
    "rollout": ("inference", "mine"),
}


def test_each_block_is_its_operation_as_long_as_the_timer_measured(record_pytorch: Callable[..., Recording]) -> None:
    named = ("--operation", "inference/mine=verl.utils.profiler.performance:simple_timer(rollout)")
    recording = record_pytorch("verl_timers.py", options=named)
    assert "was not recorded" not in recording.stderr
    seconds = Counter(recording.printed)
    for name, (stage, operation) in OPERATIONS.items():
        measured = recording.seconds(stage=stage, operation=operation)
        assert measured == pytest.approx(seconds[name], rel=TOLERANCE), name
    both = recording.seconds(stage="inference", operation="logprobs")
    assert both == pytest.approx(seconds["old_log_prob"] + seconds["ref"], rel=TOLERANCE)
    swept = recording.main_sweep()
    assert swept["misnested_operations"] == 0
    assert {name: count for name, count, *_ in swept["tasks"]} == {"simulation": 2, "tool_call": 2}
