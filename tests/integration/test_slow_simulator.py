"""The synthetic slow simulator of the case studies: its calls, and the time that they state, are the simulator's."""

import subprocess
import sys
from pathlib import Path

import pytest
from framework_runs import ROOT, WORKLOADS
from recording import record

MILLISECONDS = 5
STEPS = 20
FLY = f"""
import gymnasium, numpy, rlscope
env = gymnasium.make("slow_drone:SlowDrone-v0", milliseconds={MILLISECONDS})
for iteration in range(2):
    env.reset(seed=iteration)
    for _ in range({STEPS}):
        env.step(numpy.zeros(3, numpy.float32))
    rlscope.report_progress(timesteps={STEPS} * (iteration + 1), total_timesteps={2 * STEPS})
"""


@pytest.fixture(scope="module", autouse=True)
def slow_simulator() -> None:
    subprocess.run(["make", "--silent", "-C", ROOT, "simulators", f"PYTHON={sys.executable}"], check=True)


@pytest.mark.parametrize(("options", "episodes"), [((), 2), (("--delay-iterations", "1"), 1)])
def test_each_step_takes_its_time_in_the_simulator(options: tuple[str, ...], episodes: int, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", FLY, options=options, cwd=WORKLOADS)
    assert recording.returncode == 0, recording.stderr
    swept = recording.main_sweep()
    calls = episodes * (STEPS + 1)  # a reset is one too
    assert swept["crossings"]["slow_simulator.step"] == swept["events"]["simulator"] == calls
    assert swept["events"]["operation"] == episodes * (STEPS + 2)  # a reset is one in its stage
    of_loop = [
        row for row in recording.analysis["account"] if row["cause"] not in ("starting_up", "afterwards", "no_core")
    ]
    assert max(of_loop, key=lambda row: row["seconds"])["category"] == "simulator"
    for within, count in (({"stage": "simulation"}, calls), ({"operation": "simulation"}, episodes * STEPS)):
        ran_s = recording.seconds(category="simulator", **within)
        without_core_s = recording.seconds(category="no_core", ready_in="simulator", **within)
        assert ran_s + without_core_s >= count * MILLISECONDS / 1000
