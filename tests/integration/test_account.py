"""The account of real trainings that are slow for a known reason: cause and line of the program's own code."""

from pathlib import Path
from typing import Any

import pytest
from recording import SCRIPTS, Recording, record, rlscope

SCRIPT = SCRIPTS / "slow_for_a_reason.py"
#: Where a program begins and ends, and what other programs on the machine take from it.
AROUND = ("starting_up", "afterwards", "no_core")
#: By reason: the cause, and what the row says that it was in.
REASONS = {
    "garbage_collection": ("garbage_collection", "", ""),
    "tensor": ("no_stage", "backend", "torch.tensor"),
    "sleep": ("waiting", "", "time.sleep"),
    "function": ("no_stage", "python", ""),
    "messages": ("pickling", "python", "_ConnectionBase.recv"),
    "graph": ("backpropagation", "backend", "torch.run_backward"),
}


SEARCHING = "def search():\n    for number in range(20_000_000):\n        number % 7\n"
SEARCHES = """import os, sys
sys.path.append(os.path.join(os.path.dirname(__file__), "packages"))
import searching
def train():
    searching.search()
train()
"""


def largest(recording: Recording) -> dict[str, Any]:
    rows = [row for row in recording.analysis["account"] if row["cause"] not in AROUND]
    return max(rows, key=lambda row: row["seconds"])  # type: ignore[no-any-return]


def is_the_reason(row: dict[str, Any], source: Path) -> bool:
    return Path(row["file"]).name == source.name and source.read_text().splitlines()[row["line"] - 1].endswith(
        "# the reason"
    )


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_is_found_with_its_line(reason: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", SCRIPT.name, reason)
    assert recording.returncode == 0, recording.stderr
    row = largest(recording)
    cause, category, called = REASONS[reason]
    assert (row["cause"], row["category"], row["on"] or row["called"]) == (cause, category, called)
    assert is_the_reason(row, SCRIPT)
    wall_s = recording.analysis["processes"][0]["wall_s"]
    assert sum(each["seconds"] for each in recording.analysis["account"]) == pytest.approx(wall_s)
    shown = rlscope("analyze", recording.trace)
    assert shown.returncode == 0 and len(shown.stdout.splitlines()) <= 25
    assert f"{SCRIPT.name}:{row['line']}" in shown.stdout


@pytest.mark.parametrize("is_installed", [True, False])
def test_what_pip_installs_elsewhere_is_no_own_code(is_installed: bool, tmp_path: Path) -> None:
    """A package beside the program is its own code, and so is one that nothing says was installed."""
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "searching.py").write_text(SEARCHING)
    if is_installed:
        (tmp_path / "packages" / "searching-1.0.dist-info").mkdir()
        (tmp_path / "beside-1.0.dist-info").mkdir()
    (tmp_path / "train.py").write_text(SEARCHES)
    recording = record(tmp_path / "trace", tmp_path / "train.py", options=("--lines",))
    assert recording.returncode == 0, recording.stderr
    found = {row["function"]: row["is_own"] for row in recording.analysis["functions"]}
    assert (found["train"], found["search"]) == (True, not is_installed)
    calls = {(row["function"], row["called"]) for row in recording.analysis["account"] if row["line"]}
    assert (("train", "searching.search") in calls) == is_installed


def test_writing_to_a_disk_is_a_cause_with_its_line(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", SCRIPT.name, "disk", options=("--lines",))
    rows = [row for row in recording.analysis["account"] if row["cause"] == "disk" and "fsync" in row["on"]]
    assert rows and all(is_the_reason(row, SCRIPT) for row in rows)


def test_the_line_that_has_autograd_look_for_anomalies_is_a_change(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", SCRIPT.name, "anomalies")
    assert recording.returncode == 0, recording.stderr
    lines = SCRIPT.read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "detect_anomaly" in text)
    places = [(row["code"], row["line"]) for row in recording.analysis["findings"]]
    assert ("RLS503", line) in places


@pytest.mark.parametrize("reason", ["compile_once", "compile_again"])
def test_compiling_once_is_a_change_where_a_function_is_compiled_again(reason: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", SCRIPT.name, reason)
    assert recording.returncode == 0, recording.stderr
    codes = [row["code"] for row in recording.analysis["findings"]]
    assert ("RLS701" in codes) == (reason == "compile_again")


def test_what_workers_do_that_live_for_a_moment_is_not_starting_them(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", SCRIPT.name, "dataset")
    assert recording.returncode == 0, recording.stderr
    rows = [row for row in recording.analysis["account"] if row["cause"] not in AROUND]
    row = max((row for row in rows if row["on"].startswith("DataLoader worker")), key=lambda row: row["seconds"])
    assert (row["cause"], row["category"]) == ("no_stage", "python")
    assert is_the_reason(row, SCRIPT)


def test_an_update_that_grows_is_told(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", SCRIPT.name, "graph")
    grown = [row for row in recording.analysis["durations"] if row["grows"]]
    assert "backpropagation" in {row["stage"] for row in grown}


@pytest.mark.parametrize(
    ("kind", "cause", "function"),
    [("table", "no_stage", "Table.learn"), ("network", "no_stage", "Network."), ("own", "no_loop", "Table.learn")],
)
def test_what_learns_without_a_library_is_in_no_stage_and_said_with_its_function(
    kind: str, cause: str, function: str, tmp_path: Path
) -> None:
    recording = record(tmp_path / "trace", "unnamed_learners.py", kind)
    assert recording.returncode == 0, recording.stderr
    rows = [row for row in recording.analysis["account"] if row["cause"] not in AROUND]
    row = max((row for row in rows if row["cause"] == cause), key=lambda row: row["seconds"])
    assert row["function"].startswith(function) and Path(row["file"]).name == "unnamed_learners.py"
    assert {row["stage"] for row in recording.analysis["breakdown"]} <= {"simulation", "(none)"}, "nothing is guessed"
    shown = rlscope("analyze", recording.trace).stdout
    assert row["function"] in shown and f"unnamed_learners.py:{row['line']}" in shown
    assert "docs/naming-stages.md" in shown
