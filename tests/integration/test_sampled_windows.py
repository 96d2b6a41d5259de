"""A sample of a run: one iteration of each so many is recorded, and says with an interval where all the time went."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from recording import RLSCOPE, SCRIPTS, call_here, environment

from rlscope.analysis.sweep import sweep_trace
from rlscope.analysis.tables.calls import detail_of
from rlscope.compare.recorded import iterating
from rlscope.monitor.windows import Windows
from rlscope.trace.reader import open_trace

EVERY = 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A loop of which one iteration of each four was recorded, until there were five windows."""
    directory = tmp_path_factory.mktemp("sampled")
    command: list[str | Path] = [sys.executable, SCRIPTS / "looping.py", directory / "stop"]
    job = subprocess.Popen(
        [*RLSCOPE, "record", "--every", str(EVERY), "-o", directory / "run", "--", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(), cwd=directory,
    )  # fmt: skip
    while not (directory / "run" / "window-6").exists():
        time.sleep(0.05)
    for verb in (("start",), ("window", "--iterations", 1)):
        assert "one iteration of every 4 is recorded" in call_here(verb[0], directory / "run", *verb[1:]).stderr
    (directory / "stop").touch()
    _, said = job.communicate(timeout=200)
    assert job.returncode == 0
    assert "iterations recorded. Look at the whole run: rlscope analyze" in said
    return directory / "run"


def estimate(run: Path) -> dict[str, Any]:
    finished = call_here("analyze", run, "--json")
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout)
    return found


def test_each_window_holds_the_iteration_whose_turn_it_was(run: Path) -> None:
    windows = Windows(run).traces()
    assert len(windows) >= 5
    assert len(windows) == sum(1 for path in run.glob("window-*")), "what was made ready and not used is gone"
    for window in windows[:-1]:
        process = iterating(sweep_trace(open_trace(window), bins=0))
        assert len(detail_of(process).iteration_starts) == 8  # bytes: of one iteration
        before = process.found.properties["iterations_before"]
        assert isinstance(before, int)
        assert before % EVERY == EVERY // 2


def test_the_whole_run_is_estimated_and_says_from_what(run: Path) -> None:
    found = estimate(run)
    assert found["estimated"] and found["recorded_iterations"] >= 5
    assert found["iterations"] > (found["recorded_iterations"] - 1) * EVERY
    parts = {(part["stage"], part["category"]): part for part in found["parts"]}
    stages = {stage: part for (stage, category), part in parts.items() if category is None}
    assert set(stages) >= {"inference", "backpropagation"}
    assert sum(part["share"] for part in stages.values()) == pytest.approx(1)
    assert sum(part["seconds"] for part in stages.values()) == pytest.approx(found["seconds"])
    assert all(part["share_low"] <= part["share"] <= part["share_high"] for part in parts.values())
    text = call_here("analyze", run).stdout
    assert f"Estimated from {found['recorded_iterations']} of {found['iterations']:,} iterations" in text
    refused = call_here("analyze", run, "--by", "stage")
    assert (refused.returncode, "give one of its windows instead" in refused.stderr) == (2, True)
