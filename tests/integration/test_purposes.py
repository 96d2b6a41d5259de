"""What callbacks do, checkpoints and logs are operations of their own, in none of the stages around them."""

from collections import Counter
from pathlib import Path

from recording import record


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
