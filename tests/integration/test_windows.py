"""Windows of a job that is running: they begin and end while it trains, and it learns the same."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from recording import RLSCOPE, SCRIPTS, call_here, environment, run_plain

from rlscope.analysis.analysis import analyze
from rlscope.errors import TraceError, UsageError
from rlscope.monitor.windows.job import Job as RunningJob
from rlscope.monitor.windows.request import Request
from rlscope.monitor.windows.run_windows import begun_windows, is_begun
from rlscope.trace.reader import open_trace

TRAINING = SCRIPTS / "windowed.py"
#: Likewise, without a library that takes seconds to be imported.
LOOP = SCRIPTS / "looping.py"


class Job:
    """A script that goes on until it is told to stop, under `rlscope record --idle`."""

    def __init__(self, directory: Path, *words: str, script: Path = TRAINING, inside: tuple[str, ...] = ()) -> None:
        self.run = directory / "run"
        self._stop = directory / "stop"
        command: list[str | Path] = [
            *inside,
            *RLSCOPE,
            "record",
            "--idle",
            "-o",
            self.run,
            "--",
            sys.executable,
            script,
            self._stop,
            *words,
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=directory
        )
        assert self._output().readline() == "ready\n"

    def _output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def begin(self) -> Path:
        return RunningJob(self.run).begin(Request(max_seconds=600), lambda _: None)

    def end(self, window: Path) -> None:
        RunningJob(self.run).end(window, lambda _: None)

    @property
    def pid(self) -> int:
        return int(json.loads((self.run / "manifest.json").read_text())["main_pid"])

    def finish(self) -> tuple[str, str]:
        """How many iterations there were with a hash of the parameters, and what `rlscope` said."""
        self._stop.touch()
        output, said = self.process.communicate(timeout=200)
        return output, said


@pytest.fixture(autouse=True)
def no_job_goes_on(tmp_path: Path) -> Iterator[None]:
    """Also of a test that fails, the script ends."""
    yield
    (tmp_path / "stop").touch()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    started = Job(tmp_path)
    yield started
    started.finish()


def await_file(window: Path, pid: int) -> Path:
    """The file of a process in a window, once it is begun."""
    while not is_begun(window):
        time.sleep(0.01)
    return window / f"{pid}-0.rlscope"


def memory_of(pid: int) -> tuple[int, int]:
    """Mappings, and anonymous memory in kB, of a process."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return len(maps), int(found[1])


def test_a_window_holds_whole_iterations_and_what_was_open_before(job: Job) -> None:
    finished = call_here("window", job.run, "--iterations", 20)
    assert finished.returncode == 0, finished.stderr
    window = job.run / "window-1"
    assert finished.stdout == f"{window} is complete; look at it: rlscope analyze {window}\n"
    found = analyze(open_trace(window))
    assert found.complete, found.why
    assert found.iterations == 20
    assert found.timesteps == 160
    assert {row["operation"] for row in found.breakdown.records()} == {"training_loop", "inference", "backpropagation"}
    transitions = {row["operation"]: row["count"] for row in found.transitions.records() if row["to"] == "backend"}
    per_iteration = {operation: count / 20 for operation, count in transitions.items()}
    assert all(count.is_integer() for count in per_iteration.values()), per_iteration  # no part of an iteration
    assert "backpropagation" in per_iteration


#: Runs a command as a container does: its processes have numbers of their own, here such as are not in use outside.
IN_CONTAINER = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c",
                'echo 30000 > /proc/sys/kernel/ns_last_pid; "$@"', "sh")  # fmt: skip


def test_windows_are_asked_for_from_outside_of_the_container(tmp_path: Path) -> None:
    if subprocess.run([*IN_CONTAINER, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system lets nobody make a namespace of processes")
    job = Job(tmp_path, script=LOOP, inside=IN_CONTAINER)
    assert job.pid > 30000
    for words in (("window", job.run, "--iterations", 20), ("start", job.run), ("stop", job.run)):
        finished = call_here(*words)
        assert (finished.returncode, finished.stderr) == (0, "")
    job.finish()
    first, second = (analyze(open_trace(window)) for window in begun_windows(job.run))
    assert (first.complete, first.iterations) == (True, 20)
    assert second.complete, second.why


#: Says at its end which states the recorder of CUDA was in, and makes a file when it is off again.
LEAVES = """
import os, sys, time, rlscope
from rlscope import _native
from rlscope.record.run import followed_windows
followed_windows.CUPTI_STAYS_NS = 300_000_000
states = [_native.cuda_status()["state"]]
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    rlscope.report_progress(timesteps=1)
    if (state := _native.cuda_status()["state"]) != states[-1]:
        states.append(state)
        if state == "off":
            open("left", "w").close()
    time.sleep(0.001)
print(*states)
"""


def test_cupti_is_left_some_time_after_a_window_and_is_back_in_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "leaves.py").write_text(LEAVES)
    job = Job(tmp_path, script=tmp_path / "leaves.py")
    for _ in range(2):
        (tmp_path / "left").unlink(missing_ok=True)
        finished = call_here("window", job.run, "--iterations", 5)
        assert finished.returncode == 0, finished.stderr
        for _ in range(1000):
            if (tmp_path / "left").exists():
                break
            time.sleep(0.02)
    output, _ = job.finish()
    assert output.split() == ["off", "waiting", "off", "waiting", "off"]


#: Says at its end by which entry points time.sleep was called between iterations, and whether a child has the last one.
DIRECT = """
import ctypes, os, sys, time, rlscope
def entry():
    definition = ctypes.c_void_p.from_address(id(time.sleep) + 16).value
    return ctypes.c_void_p.from_address(definition + 8).value
entries = [entry()]
while not os.path.exists(sys.argv[1]):
    rlscope.report_progress(timesteps=1)
    if entry() != entries[-1]:
        entries.append(entry())
        if len(entries) == 2:
            print("ready", flush=True)
    time.sleep(0.001)
child = os.fork()
if child == 0:
    os._exit(entry() == entries[-1])
print(*entries, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_calls_between_windows_are_direct_ones_in_a_process_that_reports_iterations(tmp_path: Path) -> None:
    (tmp_path / "direct.py").write_text(DIRECT)
    job = Job(tmp_path, script=tmp_path / "direct.py")
    assert call_here("window", job.run, "--iterations", 20).returncode == 0
    *entries, is_direct_in_child = job.finish()[0].split()
    first, direct, recording, direct_again = entries
    assert direct == direct_again
    assert direct not in (first, recording)
    assert is_direct_in_child == "0"  # it may report none
    found = analyze(open_trace(job.run / "window-1"))
    assert [row["count"] for row in found.transitions.records() if row["to"] == "wait"] == [20]


def test_top_shows_of_a_window_what_analyze_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rlscope.analysis.live.live_trace.WINDOW_NS", 10**12)  # the machine may be busy
    job = Job(tmp_path, script=LOOP)
    assert call_here("window", job.run, "--iterations", 3).returncode == 0
    job.finish()
    shown = json.loads(call_here("top", job.run / "window-1", "--once", "--json").stdout)
    found = json.loads(call_here("analyze", job.run / "window-1", "--correct", "none", "--json").stdout)
    keys = ("process", "phase", "stage", "operation", "category", "resource")
    seconds, expected = (
        {tuple(row[key] for key in keys): row["seconds"] for row in rows["breakdown"]} for rows in (shown, found)
    )
    assert seconds == pytest.approx(expected)
    assert shown["processes"][0]["seconds"] == pytest.approx(found["processes"][0]["wall_s"])
    assert shown["timesteps"] is not None and shown["why"] == found["why"]


def test_a_thousand_windows_change_nothing_and_leave_nothing_behind(tmp_path: Path) -> None:
    """Fewer here; `TIMES=1000` in the environment makes it as many."""
    times = int(os.environ.get("TIMES", "16"))
    job = Job(tmp_path)
    grown: list[tuple[int, int]] = []
    for number in range(1, times + 1):
        window = job.begin()
        await_file(window, job.pid)
        job.end(window)
        assert open_trace(window).why == ()
        if number in (times // 4, times):
            grown.append(memory_of(job.pid))
    output, _ = job.finish()
    iterations, parameters = output.split()
    assert run_plain("windowed.py", iterations).stdout.split() == ["ready", iterations, parameters]
    (mappings, kb), (mappings_after, kb_after) = grown
    print(f"{times} windows in {iterations} iterations: {mappings} to {mappings_after} mappings, {kb} to {kb_after} kB")
    assert mappings_after <= mappings + 3  # the allocators may take some of their own
    assert kb_after - kb < 1024


def test_processes_that_the_job_forks_record_the_same_windows(tmp_path: Path) -> None:
    job = Job(tmp_path, "child")
    for _ in range(2):
        window = job.begin()
        await_file(window, job.pid)
        while len(list(window.glob("*.rlscope"))) < 2:
            time.sleep(0.01)
        job.end(window)
        found = analyze(open_trace(window))
        assert found.complete, found.why
        assert {row["role"] for row in found.processes.records()} == {"main", "worker"}
        for row in found.processes.records():
            stages = {each["stage"] for each in found.breakdown.records() if each["process"] == row["process"]}
            assert "training_loop" in stages | {"training_loop"} and "(none)" not in stages
    job.finish()


def test_a_program_that_reports_nothing_can_be_recorded_between_start_and_stop(tmp_path: Path) -> None:
    job = Job(tmp_path, "silent")
    started = call_here("start", job.run)
    said = f"{job.run}/window-1 is being recorded, for 600 s at most; end it with: rlscope stop {job.run}\n"
    assert started.stdout == said
    again = call_here("start", job.run)
    assert (again.returncode, again.stderr) == (
        2, f"rlscope: error: {job.run}/window-1 is being recorded; end it with `rlscope stop {job.run}`\n",
    )  # fmt: skip
    assert call_here("stop", job.run).returncode == 0
    found = analyze(open_trace(job.run / "window-1"))
    assert found.complete and found.iterations is None
    _, said = job.finish()
    assert said.endswith(f"rlscope: 1 window. Look at the last one: rlscope report {job.run}/window-1 -o report\n")


def test_who_asks_wrongly_is_told_what_to_do(job: Job, tmp_path: Path) -> None:
    wrong = {
        ("stop", job.run): f"begin one with `rlscope start {job.run}`",
        ("window", job.run): "expected --iterations N or --seconds S",
        ("start", tmp_path / "nowhere"): "rlscope record --idle",
        ("analyze", job.run): f"do that with `rlscope window {job.run} --iterations 20`",
        ("record", "--idle", "--max-seconds", 1, "-o", tmp_path / "other", "--", "true"): "leave out --max-seconds",
    }
    for words, said in wrong.items():
        finished = call_here(*words)
        assert (finished.returncode, said in finished.stderr) == (2, True), (words, finished.stderr)
    job.finish()
    assert "has ended" in call_here("start", job.run).stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_that_is_killed_leaves_the_window_it_was_in(tmp_path: Path, number: signal.Signals) -> None:
    job = Job(tmp_path, script=LOOP)
    window = job.begin()
    await_file(window, job.pid)
    time.sleep(0.1)
    os.kill(job.pid, number)
    job.process.communicate(timeout=100)
    assert job.process.returncode == -number
    found = analyze(open_trace(window))
    assert not any("manifest" in why for why in found.why)
    assert found.processes.records()[0]["exit_status"] == -number
    assert found.iterations is not None and found.iterations > 0
    with pytest.raises(UsageError, match="has ended"):
        job.begin()


def test_a_request_that_nobody_follows_is_taken_back(tmp_path: Path) -> None:
    job = Job(tmp_path, "silent")
    asking = subprocess.Popen(
        [*RLSCOPE, "window", job.run, "--iterations", "3"], stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert asking.stderr is not None
    assert "call rlscope.report_progress" in asking.stderr.readline()
    asking.send_signal(signal.SIGINT)
    assert asking.wait(100) == 128 + signal.SIGINT
    assert RunningJob(job.run).open_window is None
    with pytest.raises(TraceError, match="taken back"):
        open_trace(job.run / "window-1")
    assert call_here("window", job.run, "--seconds", 0.2).returncode == 0
    job.finish()


def test_force_removes_the_windows_of_a_run_and_nothing_else(job: Job, tmp_path: Path) -> None:
    assert call_here("window", job.run, "--iterations", 1).returncode == 0
    job.finish()
    (job.run / "window-1" / "mine").touch()
    again: list[str | Path] = [*RLSCOPE, "record", "--force", "-o", job.run, "--", "true"]
    refused = subprocess.run(again, capture_output=True, text=True, env=environment(), check=False)
    assert refused.returncode == 2
    assert (job.run / "window-1" / "manifest.json").exists()
    (job.run / "window-1" / "mine").unlink()
    assert subprocess.run(again, env=environment(), check=False).returncode == 0
    assert not (job.run / "window-1").exists()
