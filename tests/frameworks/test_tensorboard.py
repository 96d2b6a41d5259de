"""`rlscope export --to tensorboard`: TensorBoard's own reader finds what the trace has."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from framework_runs import PROGRAMS, run_in
from page_traces import training
from recording import rlscope
from trace_builder import ProcessScript, parse_script, write_scripts

from rlscope.analysis.analysis import analyze
from rlscope.trace.reader import open_trace

WITHOUT_ITERATIONS = """
process start=1000 stop=1001000
thread 0
2000 + phase:collect
2000 + simulation
2500 + simulator:mujoco.step
700000 -
800000 -
900000 -
"""
#: Values have 32 bits.
FLOAT = {"rel": 1e-6}


def exported(script: ProcessScript, folder: Path) -> dict[str, dict[str, list[tuple[int, float, float]]]]:
    trace = write_scripts([script], folder / "trace")
    done = run_in("others", "-m", "rlscope", "export", trace, "--to", "tensorboard", "-o", folder / "logs")
    assert done.returncode == 0, done.stderr
    read = run_in("others", PROGRAMS / "tensorboard_scalars.py", folder / "logs")
    assert read.returncode == 0, read.stderr
    found: dict[str, Any] = json.loads(read.stdout.splitlines()[-1])
    return found


def test_iterations(tmp_path: Path) -> None:
    """Each takes 66 ms and four timesteps, the second one 43 ms more; 30 of backpropagation are in the backend."""
    found = exported(training(5, 1, device=True), tmp_path)
    assert set(found) == {"main", "devices"}
    series = {tag.removeprefix("rlscope/"): points for tag, points in found["main"].items()}
    assert [step for step, _, _ in series["seconds"]] == [4, 8, 12, 16, 20]
    lengths = [0.066, 0.109, 0.066, 0.066, 0.066]
    assert [value for _, _, value in series["seconds"]] == pytest.approx(lengths, **FLOAT)
    assert [value for _, _, value in series["stage/backpropagation_seconds"]] == pytest.approx(
        [0.032, 0.073, 0.032, 0.032, 0.032], **FLOAT
    )
    percent = [value for _, _, value in series["layer/backend_percent"]]
    assert percent == pytest.approx([100 * 40 / 66, 100 * 83 / 109, *[100 * 40 / 66] * 3], **FLOAT)
    assert [value for _, _, value in series["phase/data_collection_percent"]] == pytest.approx([100] * 5, **FLOAT)
    times = [time for _, time, _ in series["seconds"]]
    assert [later - earlier for earlier, later in pairwise(times)] == pytest.approx(lengths[1:], abs=1e-5)
    analysis = analyze(open_trace(tmp_path / "trace"))
    busy = [value for _, _, value in found["devices"]["rlscope/device/0_busy_percent"]]
    assert busy == pytest.approx([100 * row.busy for row in analysis.device_timeline], **FLOAT)


@pytest.mark.parametrize(
    ("script", "last_step"), [(parse_script(WITHOUT_ITERATIONS), 999), (training(1100), 4400)], ids=["none", "many"]
)
def test_parts_of_the_run_sum_to_what_analyze_has(script: ProcessScript, last_step: int, tmp_path: Path) -> None:
    """Without iterations, or with more than TensorBoard shows, points are a thousand parts of the run."""
    (series,) = exported(script, tmp_path).values()
    assert {len(points) for points in series.values()} == {1000}
    expected: Counter[str] = Counter()
    for row in analyze(open_trace(tmp_path / "trace")).breakdown:
        kinds = {"stage": row.stage.strip("()"), "layer": row.category, "phase": row.phase.strip("()")}
        for kind, name in kinds.items():
            expected[f"rlscope/{kind}/{name}_seconds"] += row.seconds
    del expected["rlscope/phase/none_seconds"]
    found = {tag: sum(value for _, _, value in points) for tag, points in series.items()}
    assert {tag: found[tag] for tag in expected} == pytest.approx(expected, rel=1e-5, abs=1e-9)
    steps = [step for step, _, _ in series["rlscope/seconds"]]
    assert steps == sorted(steps) and steps[-1] == last_step


def test_without_tensorboard_it_says_what_to_install(tmp_path: Path) -> None:
    trace = write_scripts([training(2)], tmp_path / "trace")
    done = rlscope("export", trace, "--to", "tensorboard", "-o", tmp_path / "logs")  # of .venv, which has none
    assert (done.returncode, "pip install tensorboard" in done.stderr) == (2, True)


def test_a_folder_that_is_written_again_has_each_run_once(tmp_path: Path) -> None:
    for name in ("first", "second"):
        trace = write_scripts([training(3, device=True)], tmp_path / name)
        done = run_in("others", "-m", "rlscope", "export", trace, "--to", "tensorboard", "-o", tmp_path / "logs")
        assert done.returncode == 0, done.stderr
    assert sorted(path.parent.name for path in tmp_path.glob("logs/*/*")) == ["devices", "main"]
    (tmp_path / "logs" / "notes.md").write_text("mine")
    done = run_in("others", "-m", "rlscope", "export", trace, "--to", "tensorboard", "-o", tmp_path / "logs")
    assert done.returncode == 2 and "notes.md" in done.stderr
