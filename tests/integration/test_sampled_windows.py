"""A sample of a run: one iteration of each so many is recorded, and says with an interval where all the time went."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recording import RLSCOPE, SCRIPTS, call_here, environment, record

from rlscope.analysis.analysis import analyze
from rlscope.analysis.sweep import sweep_trace
from rlscope.analysis.tables.calls import detail_of
from rlscope.compare.recorded import recorded
from rlscope.compare.sampled.whole_run import WHOLE, Part, whole_run
from rlscope.compare.sampled.windows import iterating
from rlscope.monitor.windows.run_windows import begun_windows
from rlscope.trace.reader import open_trace

EVERY, SAMPLES = 4, 40


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
    windows = begun_windows(run)
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


def test_each_window_of_a_script_knows_which_calls_learn(tmp_path: Path) -> None:
    """The first one comes while the process still learns that from all iterations, the others when it does not."""
    script = tmp_path / "train.py"
    script.write_text(
        "import time, rlscope, torch\n"
        "network = torch.nn.Linear(4, 2)\n"
        "optimizer = torch.optim.SGD(network.parameters(), lr=0.1)\n"
        "for iteration in range(1, 701):\n"
        "    losses = network(torch.zeros(4))\n"
        "    with rlscope.operation('loss'):\n"
        "        time.sleep(0.003)\n"
        "    losses.sum().backward()\n"
        "    optimizer.step()\n"
        "    rlscope.report_progress(timesteps=iteration)\n"
    )
    recording = record(tmp_path / "run", script, options=("--every", "100"))
    assert recording.returncode == 0, recording.stderr
    windows = begun_windows(tmp_path / "run")
    assert len(windows) >= 3
    for window in windows:
        rows = analyze(open_trace(window)).breakdown.records()
        assert {row["stage"] for row in rows if row["operation"] == "loss"} == {"backpropagation"}, window


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_intervals_of_a_sample_hold_what_the_full_recording_shows(tmp_path: Path) -> None:
    """Of one recorded training there are 40 samples: each 40th iteration from the first on, the second and so on."""
    recording = record(tmp_path / "trace", "ppo_of_short_iterations.py", SAMPLES * 50)
    assert recording.returncode == 0, recording.stderr
    times = recorded(open_trace(recording.trace))
    whole = {(place.stage, place.category) for place in times.places}
    parts = {part for stage, category in whole for part in ((stage, category), (stage, ""), ("", category), WHOLE)}
    series = {
        (stage, category): times.series_s(
            np.array([stage in ("", place.stage) and category in ("", place.category) for place in times.places])
        )
        for stage, category in parts
    }
    seconds = series[WHOLE].sum()
    shares = {part: values.sum() / seconds for part, values in series.items() if 0.001 <= values.sum() / seconds < 1}
    assert len(shares) >= 6
    held = Counter[Part]()
    for first in range(SAMPLES):
        for found in whole_run({part: values[first::SAMPLES] for part, values in series.items()}, times.kept).parts:
            part, share = (found.stage, found.category), found.share
            assert share.low is not None and share.high is not None
            held[part] += part in shares and share.low <= shares[part] <= share.high
    assert all(held[part] >= 0.9 * SAMPLES for part in shares), held
