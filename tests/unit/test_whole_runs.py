"""The published method of calibrating: differences of whole runs."""

import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.trace_writer import TraceWriter
from rlscope.analysis.correction.costs import Bounds, Cost
from rlscope.calibration.calibration import load
from rlscope.calibration.whole_runs import CONFIGURATIONS, WholeRun, cost_of, whole_run
from rlscope.cli.calibrate import calibrate
from rlscope.errors import UsageError
from rlscope.model import Category


def run(length_ns: int, events: int) -> WholeRun:
    return WholeRun(length_ns, dict.fromkeys(CONFIGURATIONS, events))


def test_a_cost_is_the_mean_of_the_differences_of_repetitions() -> None:
    """Of which the first recorded 10 events and the second 20; the least and the most are the interval."""
    found = cost_of([run(1100, 10), run(1900, 20)], [run(1000, 0), run(1500, 0)], "boundary")
    assert isinstance(found, Cost)
    assert found.rest_outside_ns == Bounds(10, 15, 20) == found.total_ns
    assert (found.records_inside_ns.high, found.records_outside_ns.high, found.events) == (0, 0, 30)


def test_a_difference_is_not_less_than_nothing() -> None:
    found = cost_of([run(900, 10), run(1900, 20)], [run(1000, 0), run(1500, 0)], "boundary")
    assert isinstance(found, Cost) and found.rest_outside_ns == Bounds(0, 5, 20)


def test_why_there_is_no_cost() -> None:
    assert cost_of([run(1100, 10), run(1100, 0)], [run(1000, 0)] * 2, "cuda") == "the program has no such events"
    shorter = cost_of([run(900, 10)], [run(1000, 0)], "operation")
    assert shorter == "the runs in which they were recorded were shorter, by 10 ns for each event"


def test_what_a_run_took_and_recorded(tmp_path: Path) -> None:
    """From its start to its end, all processes' events together; phases are none."""
    writer = TraceWriter(tmp_path)
    for pid in (7, 8):
        process = writer.process(pid=pid)
        thread = process.thread()
        thread.begin_phase(0, "training")
        thread.begin_operation(10, "simulation")
        thread.boundary(20, 30, Category.BACKEND, "torch.add")
        thread.boundary(30, 40, Category.CUDA, "cudaMalloc")
        thread.end(50)
        thread.end(60)
        process.stop(100)
    times = {name: {"monotonic_ns": at, "realtime_ns": at} for name, at in (("start", 1000), ("end", 5000))}
    found = whole_run(writer.write({"complete": True, **times}))
    assert found == WholeRun(4000, {"uninstrumented": 0, "operation": 2, "boundary": 2, "cuda": 2})


def test_runs_for_real(tmp_path: Path) -> None:
    """Two of each, of a program that sleeps where it is recorded: in a boundary, which is what it then costs."""
    script, file = tmp_path / "script.py", tmp_path / "whole.json"
    script.write_text(
        "import time, rlscope\n"
        "from rlscope.record import recorder\n"
        "with rlscope.operation('simulation'):\n"
        "    pass\n"
        "time.sleep(2 if recorder.active.config.auto else 0.1)\n"
    )
    options = ["--whole-runs", "--repetitions", "2", "-o", str(file), "--", "python3", str(script)]
    at_terminate = signal.getsignal(signal.SIGTERM)
    finished = CliRunner().invoke(calibrate, options, catch_exceptions=False)
    assert finished.exit_code == 0
    assert signal.getsignal(signal.SIGTERM) == at_terminate, "who called it ends as before"
    assert "not measured: boundary, because the program has no such events" in " ".join(finished.output.split())
    found = load(file)
    assert set(found.costs) == {"operation"}
    # One operation, in runs that are 1.9 s longer; starting the program is the same in all.
    assert found.costs["operation"].events == 2
    assert 0.5e9 < found.costs["operation"].rest_outside_ns.mean < 5e9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--whole-runs", "-o", "file"], "a command was expected after --whole-runs --, none was found"),
        (["--", "python", "train.py"], "found"),
        (["--whole-runs", "--", "python", "train.py"], "with --whole-runs, -o FILE was expected"),
    ],
)
def test_what_belongs_together(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        CliRunner().invoke(calibrate, arguments, catch_exceptions=False)


def test_a_command_that_fails_is_said(tmp_path: Path) -> None:
    options = ["--whole-runs", "-o", str(tmp_path / "file"), "--", "sh", "-c", "echo no data >&2; exit 3"]
    with pytest.raises(UsageError, match="was expected to end well, but it ended with the exit status 3: no data"):
        CliRunner().invoke(calibrate, options, catch_exceptions=False)
    assert not (tmp_path / "file").exists()
