"""A flight recorder: of a run of any length the last windows are there, whole, also after a kill at any moment."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from recording import RLSCOPE, SCRIPTS, call_here, environment

from rlscope import _analysis
from rlscope.analysis.analysis import analyze
from rlscope.monitor.windows.kept_windows import PARTS, slow_windows
from rlscope.monitor.windows.run_windows import begun_windows
from rlscope.record.run.trace_files import bytes_of
from rlscope.trace.reader import open_trace
from rlscope.trace.windows import SLOW_NAME

#: `--keep` of these tests, and when a window of it ends.
KEEP_S = 2.0
#: By so much at most a file grows at once.
CHUNK_BYTES = 1 << 20


def start(directory: Path, keep: str, script: str = "looping.py", *options: str) -> "subprocess.Popen[str]":
    command: list[str | Path] = [sys.executable, SCRIPTS / script, directory / "stop"]
    return subprocess.Popen(
        [*RLSCOPE, "record", "--keep", keep, *options, "-o", directory / "run", "--", *command, "slow"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=directory,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def jobs_end(tmp_path: Path) -> Iterator[None]:
    """What a test that failed has started."""
    yield
    (tmp_path / "stop").touch()


def overwritten(run: Path) -> int:
    return int(json.loads((run / "manifest.json").read_text()).get("overwritten", {"windows": 0})["windows"])


def await_overwritten(run: Path, windows: int) -> None:
    while not (run / "manifest.json").exists() or overwritten(run) < windows:
        time.sleep(0.05)


def main_pid(run: Path) -> int:
    return int(json.loads((run / "manifest.json").read_text())["main_pid"])


def intervals(run: Path, pid: int) -> Iterator[tuple[float, float]]:
    """When the process was recorded, in seconds since 1970, by window."""
    for window in begun_windows(run):
        for process in open_trace(window, recover=True).processes:
            if process.header.pid == pid:
                last_ticks = max(_analysis.sweep(process.path).end_ticks, process.header.last_pair.ticks)
                yield (
                    process.clock.realtime_ns(process.header.start_ticks) / 1e9,
                    process.clock.realtime_ns(last_ticks) / 1e9,
                )


@pytest.mark.parametrize("seed", range(int(os.environ.get("KILLS", "3"))))
def test_the_last_windows_are_whole_after_a_kill_at_any_moment(tmp_path: Path, seed: int) -> None:
    job = start(tmp_path, f"{KEEP_S:g}s")
    run = tmp_path / "run"
    await_overwritten(run, 2)
    time.sleep(random.Random(seed).random() * KEEP_S / PARTS * 2)
    pid, killed_s = main_pid(run), time.time()
    subprocess.run(["kill", "-KILL", str(pid)], check=True)
    job.communicate(timeout=100)
    assert job.returncode == -signal.SIGKILL
    found = list(intervals(run, pid))
    assert found[0][0] < killed_s - KEEP_S / 2, "as much as was to be kept, but for what a busy machine takes"
    numbers = [int(window.name.removeprefix("window-")) for window in begun_windows(run)]
    assert numbers == list(range(overwritten(run) + 1, numbers[-1] + 1)), "no other was removed"
    for window in begun_windows(run):
        analysis = analyze(open_trace(window))
        killed = [row["process"] for row in analysis.processes.records() if row["exit_status"] is not None]
        assert analysis.complete or killed, analysis.why  # nothing but the process that was killed is without an end
        operations = {row["operation"] for row in analysis.breakdown.records()}
        assert killed or operations >= {"inference", "backpropagation"}  # it may have begun just before the kill


def test_bytes_of_all_processes_stay_within_the_limit(tmp_path: Path) -> None:
    job = start(tmp_path, "10MB", "busy.py")
    run = tmp_path / "run"
    most = 0
    while not (run / "manifest.json").exists() or overwritten(run) < 1:
        with suppress(FileNotFoundError):  # there is no window yet, or one was removed between two looks
            most = max(most, sum(bytes_of(window) for window in begun_windows(run)))
        time.sleep(0.05)
    (tmp_path / "stop").touch()
    _, said = job.communicate(timeout=100)
    assert job.returncode == 0
    assert most <= 10e6 + 2 * CHUNK_BYTES, "files of two processes grow by chunks"
    assert f"{overwritten(run)} before them" in said
    windows = begun_windows(run)
    shown = call_here("analyze", run)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"{overwritten(run)} windows before them were overwritten" in shown.stdout
    assert all(window.name in shown.stdout for window in windows)
    documents = json.loads(call_here("analyze", run, "--json").stdout)
    assert [Path(document["trace"]).name for document in documents] == [window.name for window in windows]
    assert all(open_trace(window).why == () for window in windows)
    assert {row["role"] for row in analyze(open_trace(windows[-2])).processes.records()} == {"main", "worker"}


def test_top_of_a_running_job_has_what_analyze_finds_in_its_newest_window(tmp_path: Path) -> None:
    job = start(tmp_path, "10s")
    run = tmp_path / "run"
    while not (run / "window-3").exists():
        time.sleep(0.05)
    shown = json.loads(call_here("top", run, "--once", "--json").stdout)
    assert not shown["recording"], "windows of 1.25 s end before they fill a look"
    expected = analyze(open_trace(shown["trace"])).breakdown.records()
    (tmp_path / "stop").touch()
    job.communicate(timeout=100)
    keys = ("process", "phase", "stage", "operation", "category", "resource")

    def seconds(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], float]:
        return {tuple(row[key] for key in keys): row["seconds"] for row in rows}

    assert seconds(shown["breakdown"]) == pytest.approx(seconds(expected))


def test_windows_of_a_slow_iteration_stay(tmp_path: Path) -> None:
    """The loop's iterations take 5 ms, one of them 1 s. Another may seem slow on a busy machine."""
    job = start(tmp_path, "1s", "looping.py", "--on-slow", "20x")
    run = tmp_path / "run"
    while not (slow := slow_windows(run)):  # the file is there before its first line is
        time.sleep(0.05)
    last = int(slow[-1].removeprefix("window-"))
    while (run / f"window-{last + 1}").exists() or not (run / f"window-{last + PARTS}").exists():
        time.sleep(0.05)
    (tmp_path / "stop").touch()
    _, said = job.communicate(timeout=100)
    assert job.returncode == 0
    assert f"Slow iterations are in {slow[0]}" in said
    assert all(open_trace(run / window).why == () for window in slow)
    lengths = [float(line.split()[1]) for line in (run / SLOW_NAME).read_text().splitlines()]
    assert max(lengths) >= 1


def test_who_keeps_the_last_windows_begins_and_ends_none_by_hand(tmp_path: Path) -> None:
    job = start(tmp_path, "2h")
    run = tmp_path / "run"
    while not (run / "window-1").exists():
        time.sleep(0.02)
    for verb in (("start",), ("stop",), ("window", "--iterations", 1)):
        assert "is recorded all the time" in call_here(verb[0], run, *verb[1:]).stderr
    (tmp_path / "stop").touch()
    job.communicate(timeout=100)
    assert begun_windows(run) == [run / "window-1"]
    assert analyze(open_trace(run / "window-1")).complete


@pytest.mark.parametrize("factor", ["3", "x", "1x", "0.5x", "-3x"])
def test_what_is_slow_must_be_a_factor_above_one(tmp_path: Path, factor: str) -> None:
    refused = call_here("record", "--keep=5m", f"--on-slow={factor}", "-o", tmp_path / "run", "--", "true")
    assert (refused.returncode, "--on-slow" in refused.stderr) == (2, True)
    alone = call_here("record", "--on-slow=3x", "-o", tmp_path / "run", "--", "true")
    assert (alone.returncode, "give --keep 5m" in alone.stderr) == (2, True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("keep", ["", "5", "5 m", "m", "1KB", "0.5s", "9MB", "1e9s", "-5m"])
def test_what_is_kept_must_be_a_time_or_a_size(tmp_path: Path, keep: str) -> None:
    refused = call_here("record", f"--keep={keep}", "-o", tmp_path / "run", "--", "true")
    assert refused.returncode == 2
    assert "--keep was given" in refused.stderr or "expected after --keep" in refused.stderr
    assert not (tmp_path / "run").exists()


def test_what_was_recorded_last_stays_while_the_program_takes_its_time_to_end(tmp_path: Path) -> None:
    """Python tears it down, so that no process records any more, for longer than what is to be kept."""
    (tmp_path / "lingering.py").write_text(
        "import time\n"
        "import rlscope\n"
        "class Lingering:\n"
        "    def __del__(self, sleep=time.sleep):\n"
        "        sleep(2.5)\n"
        "lingering = Lingering()\n"
        "began = time.monotonic()\n"
        "while time.monotonic() - began < 2:\n"
        "    with rlscope.operation('inference'):\n"
        "        time.sleep(0.01)\n"
    )
    finished = subprocess.run(
        [*RLSCOPE, "record", "--keep", "1s", "-o", tmp_path / "run", "--", sys.executable, tmp_path / "lingering.py"],
        capture_output=True, text=True, env=environment(), cwd=tmp_path, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    kept = begun_windows(tmp_path / "run")
    seconds = [
        row.seconds for window in kept for row in analyze(open_trace(window)).breakdown if row.stage == "inference"
    ]
    assert len(kept) > PARTS / 2 and sum(seconds) > 0.5
