"""Callbacks, checkpoints, logs and collections of garbage are operations: of which stage, of which thread, and when."""

import gc
from collections import Counter
from pathlib import Path

from recording import record

import rlscope


def test_callbacks_of_stable_baselines3_are_no_inference(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "callbacks_of_sb3.py", str(tmp_path))
    assert recording.returncode == 0, recording.stderr
    rows = recording.analysis["breakdown"]
    stages = {(row["operation"], row["stage"]) for row in rows}
    around = {(row["operation"], row["outer_stage"]) for row in rows}
    for operation in ("callback", "checkpoint", "log"):
        assert {stage for name, stage in stages if name == operation} == {"training_loop"} | (
            {"(none)"} if operation == "checkpoint" else set()
        )
        assert (operation, "inference") in around  # as which published figures count it
    assert {name for name, stage in stages if stage == "inference"} >= {"inference", "collect_data", "sample_action"}
    begun: Counter[str] = Counter()
    for row in recording.analysis["cpu_times"]:
        begun[row["operation"]] += row["count"]
    evaluating = {row["operation"] for row in rows if row["phase"] == "evaluation"}
    assert {"evaluate", "simulation"} <= evaluating and "checkpoint" not in evaluating
    assert begun["callback"] >= 128 + 200
    assert (tmp_path / "last.zip").exists()


def test_collections_of_garbage_are_operations_of_the_thread_that_collects(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "garbage_collections.py")
    assert recording.returncode == 0, recording.stderr
    found = recording.main_sweep()
    begun = {(row.stage, row.operation): row.begins for row in found["cpu_times"]}
    assert begun["simulation", "garbage_collection"] == 3
    assert begun["inference", "garbage_collection"] == 1
    # Those in no operation, with some of Python's own, do not say where the loop is.
    in_none = {row.part for row in found["purposes"] if row.purpose == "garbage_collection" and row.part}
    assert in_none == {"before", "in"}
    assert not any(row.operation == "garbage_collection" and row.stage == "(none)" for row in found["breakdown"])
    assert found["threads_in_operations"] == 2
    # The main thread has both; nobody else's time is added.
    of_main = sum(row.ticks for row in found["purposes"])
    assert of_main == found["end_ticks"] - found["start_ticks"]


def test_the_collectors_callbacks_are_as_before_when_a_recording_has_ended(tmp_path: Path) -> None:
    before = [*gc.callbacks]
    with rlscope.profile(tmp_path / "trace"):
        assert len(gc.callbacks) == len(before) + 1
    assert gc.callbacks == before
