"""Ranks are named and matched, whoever launches them."""

from pathlib import Path

import pytest
from framework_runs import record_in


@pytest.mark.parametrize("launch", ["variables", "accelerate", "ray"])
def test_ranks_have_names_and_their_calls_are_matched(launch: str, tmp_path: Path) -> None:
    analysis = record_in("pytorch", tmp_path / "trace", "launched_ranks.py", launch).analysis
    assert {"rank 0", "rank 1"} <= {row["process"] for row in analysis["processes"]}
    calls = [(row["process"], row["operation"], row["count"], row["matched"]) for row in analysis["collectives"]]
    assert calls == [("rank 0", "all_reduce", 3, 3), ("rank 1", "all_reduce", 3, 3)]
