"""The command that measures data collection: recorded, call by call; and other simulators on XLA."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asked_for import with_slow
from framework_runs import WORKLOADS, run_in
from recording import Recording

CALLS = 20


def test_a_recorded_run_shows_each_number_of_steps_per_call(
    record_pytorch: Callable[..., Recording], tmp_path: Path
) -> None:
    sizes = ("--environments", 64, "--steps-per-call", 1, 100, "--calls", CALLS)
    recording = record_pytorch(
        WORKLOADS / "collect.py", "--implementation", "XLA", "--quantity", "collect", *sizes, "--output", tmp_path
    )
    rows = rows_in(tmp_path)
    assert [(row["steps_per_call"], row["calls"]) for row in rows] == [(1, [CALLS]), (100, [CALLS])]
    for row in rows:
        phase = f"K = {row['steps_per_call']}"
        in_calls = sum(
            recording.seconds(phase=phase, operation="collection", category=category)
            for category in ("python", "backend")
        )
        assert in_calls == pytest.approx(row["seconds"][0], rel=0.3)
        assert recording.seconds(phase=phase, operation="compile") == 0, "compiled before"
        for category in ("python", "backend"):
            assert recording.seconds(phase=phase, operation="collection", category=category) > 0
    assert recording.analysis["iterations"] == 2 * CALLS
    assert recording.analysis["timesteps"] == 64 * 101 * CALLS
    # The function and the wait for it, however many steps there are in a call.
    (entered,) = (row for row in recording.analysis["transitions"] if row["operation"] == "collection")
    assert (entered["from"], entered["to"], entered["count"]) == ("python", "backend", 2 * 2 * CALLS)


def rows_in(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "rows.jsonl").read_text().splitlines()]


SIMULATE = (WORKLOADS / "collect.py", "--implementation", "XLA", "--quantity", "simulate")
SIZES = ("--environments", 2, 10**12, "--steps-per-call", 3, "--seconds", 0.001, "--repetitions", 2)


@pytest.mark.parametrize(
    "simulator",
    with_slow(
        ["gymnax Acrobot-v1", "gymnax Pendulum-v1", "Brax inverted_pendulum", "MJX inverted_pendulum"],
        {"MJX inverted_pendulum"},
    ),
)
def test_other_simulators_are_measured(simulator: str, tmp_path: Path) -> None:
    finished = run_in("pytorch", *SIMULATE, *SIZES, "--simulator", simulator, "--output", tmp_path)
    assert finished.returncode == 0, finished.stderr
    few, many = rows_in(tmp_path)
    assert few["simulator"] == simulator and few["implementation"] == "XLA"
    assert few["steps"] == few["calls"][0] * 2 * 3 and len(few["seconds"]) == 2
    assert many["left_out"].startswith("expected at most ")


@pytest.mark.parametrize("simulator", ["Brax cat", "gymnax cat", "ant", "MuJoCo ant"])
def test_an_unknown_simulator_is_one_line(simulator: str, tmp_path: Path) -> None:
    finished = run_in("pytorch", *SIMULATE, *SIZES, "--simulator", simulator, "--output", tmp_path)
    assert finished.returncode == 2
    assert f"found '{simulator}'" in finished.stderr.splitlines()[-1]
    assert "Traceback" not in finished.stderr
