"""Python time by line, beside stopwatches around functions; what is recorded leaves the program as it is."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from recording import SCRIPTS, Recording, record, rlscope, run_plain

import rlscope as package
from rlscope.analysis.analysis import analyze
from rlscope.analysis.lines.own_lines import OwnLines
from rlscope.analysis.sweep import sweep_trace
from rlscope.trace.reader import open_trace

#: Of the Python time of an operation, by which share a function may be off.
TOLERANCE = 0.03
#: What functions of the script call in Python.
CALLERS = {"numbers": "summed", "recursive": "recurses"}
SCRIPT = SCRIPTS / "line_shares.py"


@pytest.fixture(scope="module")
def shares(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("lines") / "trace", SCRIPT.name, 6, options=("--lines",))


def lines_of(recording: Recording, operation: str) -> list[dict[str, Any]]:
    return [row for row in recording.analysis["lines"] if row["operation"] == operation]


def operations() -> list[str]:
    """Those of the script; the second is of another thread, which Python 3.10 does not let be found."""
    return ["simulation", "inference"] if sys.version_info >= (3, 11) else ["simulation"]


@pytest.mark.parametrize("operation", operations())
def test_functions_have_the_shares_that_stopwatches_saw(operation: str, shares: Recording) -> None:
    took = {name.partition("/")[2]: s for name, s in json.loads(shares.stdout).items() if name.startswith(operation)}
    in_native_s = took.pop("native")
    seen: Counter[str] = Counter()
    for row in lines_of(shares, operation):
        seen[CALLERS.get(row["function"], row["function"])] += row["seconds"]
    whole_s, seen_s = sum(took.values()), sum(seen.values())
    assert in_native_s > TOLERANCE * whole_s
    assert {name: seen[name] / seen_s for name in took} == {
        name: pytest.approx(length / whole_s, abs=TOLERANCE) for name, length in took.items()
    }
    assert seen["native"] / seen_s < TOLERANCE


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames that others resume are told apart from 3.11 on")
def test_a_stack_with_generators_begins_where_the_program_does(tmp_path: Path) -> None:
    """A generator that yields while its stack is read has no caller any more."""
    recording = record(tmp_path / "trace", "generator_stacks.py", options=("--lines",))
    assert recording.returncode == 0, recording.stderr
    rows = [row for row in recording.analysis["functions"] if row["stage"] == "simulation"]
    seen = sum(row["own_stacks"] for row in rows)
    assert sum(row["stacks"] for row in rows if row["function"] == "<module>" and row["is_own"]) == seen > 100


def test_lines_of_a_loop(shares: Recording) -> None:
    first = next(n for n, line in enumerate(SCRIPT.read_text().splitlines(), 1) if "x = (x * 31" in line)
    seen: Counter[int] = Counter()
    for row in shares.analysis["lines"]:
        if row["function"] == "one_to_three":
            assert row["file"] == str(SCRIPT)
            seen[row["line"]] += row["stacks"]
    assert seen[first + 1] / (seen[first] + seen[first + 1]) == pytest.approx(0.75, abs=2 * TOLERANCE)


def test_lines_sum_to_the_breakdown(shares: Recording) -> None:
    for operation in ("simulation", "inference", "(none)"):
        seconds = sum(row["seconds"] for row in lines_of(shares, operation))
        assert seconds == pytest.approx(shares.layer_seconds("python", operation=operation), rel=1e-6)


def test_analyze_by_line(shares: Recording) -> None:
    shown = rlscope("analyze", shares.trace, "--by", "operation,line", "--all")
    assert shown.returncode == 0, shown.stderr
    assert "größe" in shown.stdout
    assert "<made>" in shown.stdout


def test_analyze_without_lines(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "annotated.py", options=("--no-lines",))
    refused = rlscope("analyze", recording.trace, "--by", "line")
    assert refused.returncode == 2
    assert "record the run again with `rlscope record --lines`" in refused.stderr
    assert "lines" not in recording.analysis


#: A process that forks, and is in a function of its own before that and behind it.
FORKS = """
import os, time, rlscope
def before():
    end_s = time.process_time() + 0.5
    while time.process_time() < end_s:
        with rlscope.operation("inference"):
            sum(range(1000))
def behind():
    end_s = time.process_time() + 0.5
    while time.process_time() < end_s:
        with rlscope.operation("inference"):
            sum(range(1000))
before()
if os.fork() == 0:
    before()
    os._exit(0)
os.wait()
behind()
"""


def test_stacks_are_looked_at_again_after_a_fork(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-W", "error", "-c", FORKS, options=("--lines",))
    assert (recording.returncode, recording.stderr.count("\n")) == (0, 1), recording.stderr
    seen: Counter[tuple[str, str]] = Counter()
    for row in recording.analysis["lines"]:
        seen[row["process"], row["function"]] += row["seconds"]
    main, child = (process["process"] for process in recording.analysis["processes"])
    assert seen[main, "before"] > seen[main, "behind"] / 2 > 0
    assert seen[main, "behind"] > seen[main, "before"] / 2
    assert seen[child, "before"] > 0
    assert seen[child, "behind"] == 0


#: Functions that are made, run for a while, and freed, so that the next one may lie where they lay.
FREED = """
import time
def runs(name):
    scope = {"time": time}
    exec(f"def {name}():\\n    end_s = time.thread_time() + 0.01\\n    while time.thread_time() < end_s: 0\\n", scope)
    scope[name]()
for number in range(100):
    runs(f"f{number}")
"""


def test_code_that_lies_where_freed_code_lay_is_told_apart(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", FREED, options=("--lines",))
    assert recording.returncode == 0, recording.stderr
    seen: Counter[str] = Counter()
    for row in recording.analysis["lines"]:
        if row["file"] == "<string>" and row["function"].startswith("f"):
            seen[row["function"]] += row["stacks"]
    assert len(seen) > 50
    assert max(seen.values()) < seen.total() / 10


@pytest.mark.parametrize("way", ["fork", "process-fork", "process-spawn"])
def test_children(way: str, tmp_path: Path) -> None:
    plain = run_plain("children.py", way, 8)
    recording = record(tmp_path / "trace", "children.py", way, 8, options=("--lines",))
    assert (recording.returncode, recording.stdout, recording.stderr.count("\n")) == (0, plain.stdout, 1)
    assert recording.analysis["complete"]
    assert sum(row["operation"] == "child" for row in recording.analysis["breakdown"]) >= 8


#: Three short calls of a function in one line for each long one in another.
CALLS = """
import time, rlscope
def calls():
    for _ in range(100):
        with rlscope.operation("inference"):
            for _ in range(3):
                time.sleep(0.002)
            time.sleep(0.02)
calls()
"""


def test_who_made_native_calls(tmp_path: Path) -> None:
    """Long calls are seen more often than short ones, and yet do not count for more calls."""
    recording = record(tmp_path / "trace", sys.executable, "-c", CALLS, options=("--lines",))
    assert (recording.returncode, recording.stderr.count("\n")) == (0, 1), recording.stderr
    short, long = (
        {row["line"]: row for row in recording.analysis["call_sites"] if row["function"] == "time.sleep"}[line]
        for line in (7, 8)
    )
    assert {row["caller"] for row in (short, long)} == {"calls"}
    assert short["stacks"] < 300
    assert long["stacks"] <= 100
    assert short["calls_percent"] == pytest.approx(75, abs=15)
    assert short["time_percent"] < short["calls_percent"]


#: Copies in a simulation, sleeps in an inference, and imports before both.
LEADS = """
import copy, json.tool, time, xml.dom.minidom
import rlscope
state = [[number, [number]] for number in range(3000)]
def step():
    return copy.deepcopy(state)
def wait():
    time.sleep(0.05)
def train():
    for _ in range(30):
        with rlscope.operation("simulation"):
            step()
        with rlscope.operation("inference"):
            wait()
train()
"""


def test_own_lines_lead_to_time_without_being_asked_for(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LEADS)
    recording = record(tmp_path / "trace", sys.executable, "train.py", cwd=tmp_path)
    assert (recording.returncode, recording.stderr.count("\n")) == (0, 1), recording.stderr
    trace = open_trace(recording.trace)
    lines = OwnLines(sweep_trace(trace), analyze(trace).loops)
    [main] = [row["process"] for row in recording.analysis["processes"]]
    simulation, inference = (lines.of(main, operation=operation) for operation in ("simulation", "inference"))
    assert simulation is not None
    assert inference is not None
    assert (simulation.text, simulation.called[0]) == ("train.py:6 step", "copy.py deepcopy")
    assert (inference.text, inference.native) == ("train.py:8 wait", "time.sleep")
    waited = lines.of(main, category="wait", part="loop", function="time.sleep")
    assert waited is not None
    assert (waited.text, waited.native) == (inference.text, inference.native)
    functions = {row["function"]: row for row in recording.analysis["functions"] if row["stage"] == "simulation"}
    assert functions["step"]["is_own"]
    assert not functions["deepcopy"]["is_own"]
    assert functions["train"]["seconds"] >= functions["step"]["seconds"] >= functions["deepcopy"]["seconds"] > 0
    assert functions["step"]["seconds"] > 10 * functions["step"]["own_seconds"]


def test_frames_of_the_recorder_and_of_imports_are_no_places(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LEADS)
    analysis = record(tmp_path / "trace", sys.executable, "train.py", options=("--lines",), cwd=tmp_path).analysis
    files = {row["file"] for table in ("lines", "call_sites", "functions") for row in analysis[table]}
    assert "train.py" in {Path(file).name for file in files}
    own = str(Path(package.__file__).parent / "record")
    assert [file for file in files if file.startswith((own, "rlscope/", "<frozen importlib"))] == []
