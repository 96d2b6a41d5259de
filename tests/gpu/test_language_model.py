"""TRL without edits on a GPU: stages against the program's own stopwatches, and why the device did nothing."""

import os
import sys
from pathlib import Path

import pytest
from recording import Recording, assert_sums_to_wall, record

PROGRAM = Path(__file__).parent.parent / "frameworks" / "programs" / "trl_few.py"
TOLERANCE = 0.05


@pytest.fixture(scope="module", params=["grpo", "rloo"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    pytest.importorskip("trl")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
        return record(tmp_path_factory.mktemp("trl") / "trace", sys.executable, str(PROGRAM), request.param, "cuda")


def test_the_table_sums_to_the_wall_time(recording: Recording) -> None:
    assert_sums_to_wall(recording.analysis)


@pytest.mark.parametrize("stage", ["simulation", "inference", "backpropagation"])
def test_a_stage_has_the_time_that_the_program_measured(stage: str, recording: Recording) -> None:
    measured = recording.printed["seconds"][stage]
    assert recording.seconds(stage=stage) == pytest.approx(measured, rel=TOLERANCE)


def test_each_idle_instant_of_the_device_has_a_cause(recording: Recording) -> None:
    rows = recording.analysis["device_idle"]
    unexplained = sum(row["seconds"] for row in rows if row["cause"] == "unexplained")
    assert unexplained <= 0.05 * sum(row["seconds"] for row in rows)
