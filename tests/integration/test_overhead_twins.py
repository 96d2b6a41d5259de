"""The workload of the overhead-correction study: a real training whose twins do the same work."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from recording import environment

from experiments.harness.case_study import WORKLOADS
from experiments.harness.execute import Run
from experiments.harness.progress import Workload
from experiments.overhead_correction import run as study
from experiments.overhead_correction.measurements import AMPLIFIED, OFF, ON, RECORDED, SOURCES, overhead_of
from rlscope.analysis.correction.corrected import Correction
from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.analysis.sweep import sweep_trace
from rlscope.calibration.calibration import Calibration, conditions_of_trace, now, save
from rlscope.trace.reader import open_trace

BURSTS = 2
WORKLOAD = Workload("A2C", "A2C", "Pendulum", "on-policy")
TRAINING = ("--algo", "a2c", "--env", "Pendulum-v1", "--burst-steps", "16", "--swaps", "1", "--settling", "2")
NO_COST = Bounds(0.0, 0.0, 0.0)
COST = Cost(Bounds(10.0, 20.0, 30.0), NO_COST, NO_COST, 100)
COST_TWICE = Cost(Bounds(20.0, 40.0, 60.0), NO_COST, NO_COST, 100)
#: All of each cost is of the records, so it grows as the amplification does.
COSTS: Mapping[str, Cost] = {"operation": COST, "boundary": COST, "cuda": COST}


def train(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(WORKLOADS / "overhead_twins.py"), *TRAINING, *options],
        cwd=directory, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("twins")
    finished = train(directory, "--bursts", str(BURSTS), "--seconds", "2")
    assert finished.returncode == 0, finished.stderr
    return directory / "trace"


def test_twins_make_the_same_calls_in_as_many_bursts(trained: Path) -> None:
    lengths = json.loads((trained / "bursts.json").read_text())["lengths_ns"]
    assert set(lengths) == {OFF, *RECORDED}
    assert len({len(bursts) for bursts in lengths.values()}) == 1
    crossings = []
    for twin in RECORDED:
        found = sweep_trace(open_trace(trained / twin)).processes
        assert len(found) == 1 + len(RECORDED)  # each process has had each role once
        calls: Counter[str] = Counter()
        for process in found:
            calls.update(process.found.crossings)
            assert process.found.properties["amplification"] == int(twin.removeprefix("x"))
        crossings.append(calls)
    assert crossings[0] == crossings[1] == crossings[2]
    assert any(name.startswith("torch.") for name in crossings[0])


def test_more_is_taken_off_where_records_are_amplified(trained: Path) -> None:
    found = overhead_of(WORKLOAD, trained, Correction(COSTS, "by hand", {}))
    assert found.iterations == len(json.loads((trained / "bursts.json").read_text())["lengths_ns"][OFF]) // BURSTS
    assert found.off_s.shape == (found.iterations, BURSTS)
    once = found.removed_s[ON]
    assert 0 < once.low < once.mean < once.high
    # Changing chunks, whose time is in the trace, is taken off as well: what costs twice as much takes it off once.
    twice = overhead_of(WORKLOAD, trained, Correction(dict.fromkeys(COSTS, COST_TWICE), "by hand", {}))
    of_costs = {twin: twice.removed_s[twin].mean - found.removed_s[twin].mean for twin in RECORDED}
    for twin in AMPLIFIED:
        assert of_costs[twin] / of_costs[ON] == pytest.approx(int(twin.removeprefix("x")), rel=0.2)
    assert set(found.sources_s) == set(SOURCES)
    assert sum(part.mean for part in found.sources_s.values()) == pytest.approx(once.mean)
    assert found.sources_s["backend"].mean > found.sources_s["operation"].mean > 0


def test_without_known_costs_no_source_has_any(trained: Path) -> None:
    """As where all runs of the published method were shorter with recording than without."""
    found = overhead_of(WORKLOAD, trained, Correction({}, "by hand", {}))
    assert {part.mean for part in found.sources_s.values()} == {0.0}


def test_bursts_that_are_no_iteration_are_refused(tmp_path: Path) -> None:
    finished = train(tmp_path, "--bursts", "3", "--seconds", "1")
    assert finished.returncode != 0
    assert "expected --burst-steps times --bursts to be a multiple of the 32 steps of an iteration" in finished.stderr


def test_without_a_calibration_of_the_users_one_is_made_once(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trace = open_trace(trained / ON)
    clock = trace.processes[0].clock_kind.name.lower()
    calibration = Calibration(conditions_of_trace(trace.manifest, clock), now(), {}, COSTS)
    made = []

    def calibrate(recorded: Run, kept: Path, options: Sequence[str]) -> None:
        made.append(kept)
        save(calibration, kept)

    monkeypatch.setattr(study, "calibrate", calibrate)
    run = Run("A2C", Path(sys.executable), WORKLOADS / "overhead_twins.py", (), 0, 0, 1, "cpu", 60)
    for _ in range(2):
        assert study.correction_of(trace, run, tmp_path).costs == COSTS
    assert made == [tmp_path / "calibration.json"]
    save(calibration, tmp_path / "cache" / "rlscope" / "calibration.json")
    assert "this user's calibration" in study.correction_of(trace, run, tmp_path / "elsewhere").source
