"""SIGKILL at random moments: of who looks after windows, of the program that goes from one into the next, of readers.

KILLS=100 pytest tests/adversary/test_kills.py kills each of them a hundred times.
"""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from processes import until
from recording import RLSCOPE, environment, record
from running_jobs import is_complete, running

from rlscope.analysis.analysis import analyze
from rlscope.monitor.windows.run_windows import begun_windows, recording_processes
from rlscope.trace.reader import open_trace

KILLS = int(os.environ.get("KILLS", "1"))
#: A window is an eighth of it.
KEEP_S = 1.0


def assert_windows_are_whole(run: Path, killed: int | None) -> None:
    """Every window that is complete is whole, but for the process that was killed in it; all others can be read."""
    for window in begun_windows(run):
        analysis = analyze(open_trace(window, recover=not is_complete(window)))
        lost = [row.pid for row in analysis.processes if not row.complete]
        assert not is_complete(window) or lost in ([], [killed]), (window, analysis.why)
        for row in analysis.processes:
            of_process = sum(each.seconds for each in analysis.breakdown if each.process == row.process)
            assert of_process == pytest.approx(row.wall_s, rel=1e-6)


@pytest.mark.parametrize("seed", range(KILLS))
@pytest.mark.parametrize("whom", ["program", "record"])
def test_a_flight_recorder(whom: str, seed: int, tmp_path: Path) -> None:
    with running(tmp_path, "--keep", f"{KEEP_S:g}s", words=("worker",)) as job:
        until(lambda: job.newest >= 3)
        pid = int(job.manifest["main_pid"]) if whom == "program" else job.process.pid
        time.sleep(random.Random(seed).random() * KEEP_S)
        os.kill(pid, signal.SIGKILL)
        assert job.process.wait(60) == -signal.SIGKILL
        job.stop.touch()  # for what goes on
    until(lambda: not any(map(recording_processes, begun_windows(job.run))))  # the worker may end later
    assert_windows_are_whole(job.run, pid)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("killed") / "trace", "two_streams.py").trace


VERBS = {
    "analyze": (["--csv", "out.csv"], "out.csv"),
    "report": (["-o", "out.html"], "out.html"),
    "export": (["--to", "chrome", "-o", "out.json"], "out.json"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_reader(verb: str, trace: Path, tmp_path: Path) -> None:
    """The trace is as before, and what it writes is there whole or not at all."""
    words, name = VERBS[verb]
    command: list[str | Path] = [*RLSCOPE, verb, trace, *words]
    before = {path.name: path.read_bytes() for path in trace.iterdir()}
    began_s = time.monotonic()
    subprocess.run(command, cwd=tmp_path, env=environment(), check=True, capture_output=True)
    length_s = time.monotonic() - began_s
    whole = (tmp_path / name).stat().st_size
    for seed in range(KILLS):
        (tmp_path / name).unlink(missing_ok=True)
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(random.Random(seed).random() * length_s * 1.1)
        process.kill()
        process.wait()
        assert {path.name: path.read_bytes() for path in trace.iterdir()} == before
        if (tmp_path / name).exists():
            assert (tmp_path / name).stat().st_size >= 0.99 * whole
