"""Forecasts of a real recording: equal pieces of work have equal parts in what a change saves."""

import json
from typing import Any

import pytest
from recording import Recording, record, rlscope

#: Two of three equal pieces of work are evaluation, and one of these is in `observe`.
PROGRAM = """
import rlscope

def work():
    return sum(each * each for each in range(300_000))

def observe():
    return work()

for _ in range(12):
    with rlscope.phase("evaluation"):
        with rlscope.operation("evaluate"):
            observe()
            work()
    with rlscope.operation("backpropagation"):
        work()
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("forecast")
    (folder / "train.py").write_text(PROGRAM)
    found = record(folder / "trace", folder / "train.py")
    assert found.returncode == 0, found.stderr
    return found


def forecasts(recording: Recording, *changes: str) -> list[dict[str, Any]]:
    options = [word for change in changes for word in ("--change", change)]
    called = rlscope("forecast", recording.trace, "--correct", "none", "--json", *options)
    assert called.returncode == 0, called.stderr
    found: list[dict[str, Any]] = json.loads(called.stdout)["forecasts"]
    return found


def test_equal_pieces_have_equal_parts(recording: Recording) -> None:
    """Processor time of the same code scatters by some percent beside other programs."""
    gone, half, observed = forecasts(recording, "evaluation=gone", "evaluate=2x", "observe=gone")
    assert gone["saved_s"] / gone["loop_s"] == pytest.approx(2 / 3, abs=0.1)
    assert half["saved_s"] == pytest.approx(gone["saved_s"] / 2, rel=0.1)
    assert observed["saved_s"] / observed["loop_s"] == pytest.approx(1 / 3, abs=0.15)
    for row in (gone, half, observed):
        assert row["factor"] == pytest.approx(row["loop_s"] / (row["loop_s"] - row["saved_s"]))
        assert row["low"] < row["factor"] < row["high"]
    assert observed["error"] > gone["error"]  # it is known by stacks alone


def test_a_finding_says_the_forecast_of_its_change(recording: Recording) -> None:
    (row,) = forecasts(recording, "evaluation=1/10")
    called = rlscope("analyze", recording.trace, "--correct", "none", "--json")
    (finding,) = [each for each in json.loads(called.stdout)["findings"] if each["code"] == "RLS301"]
    assert finding["forecast"] == row["change"] and finding["forecast_clock"] == row["clock"]
    assert [finding[f"forecast_{name}"] for name in ("factor", "low", "high")] == pytest.approx(
        [row[name] for name in ("factor", "low", "high")]
    )


def test_a_name_that_is_not_there_is_refused(recording: Recording) -> None:
    called = rlscope("forecast", recording.trace, "--change", "nothing=2x")
    assert called.returncode == 2 and "'nothing'" in called.stderr and not called.stdout
