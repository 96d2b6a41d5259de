"""Who asks for a window of a running job may be gone at any moment, as may the file of requests: every window ends."""

import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import until
from recording import call_here
from running_jobs import Job, asking, is_complete, recording_since, running

from rlscope.analysis.analysis import analyze
from rlscope.monitor.windows.job import Job as Asked
from rlscope.monitor.windows.run_windows import recording_processes
from rlscope.trace.format import EndReason
from rlscope.trace.reader import open_trace
from rlscope.trace.windows import ASKED_NAME, REQUESTS_NAME, windows_in

#: Longer than any test.
FOR_EVER = 1000


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    with running(tmp_path_factory.mktemp("asked"), "--idle", words=("worker",)) as started:
        yield started


def next_window(job: Job) -> Path:
    return job.run / f"window-{len(windows_in(job.run)) + 1}"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_window_ends_with_the_command_that_asked_for_it(job: Job, number: signal.Signals) -> None:
    window = next_window(job)
    command = asking(job, "window", "--seconds", FOR_EVER)
    until(lambda: recording_since(window))
    command.send_signal(number)
    _, said = command.communicate(timeout=60)
    assert (command.returncode, said.strip()) == (128 + number, "")
    until(lambda: is_complete(window))
    assert analyze(open_trace(window)).complete


@pytest.mark.parametrize("limit", [("--iterations", 20), ("--iterations", 10**6, "--seconds", 1)])
def test_a_window_whose_asker_was_killed_ends_in_all_processes(job: Job, limit: tuple[object, ...]) -> None:
    window = next_window(job)
    command = asking(job, "window", *limit)
    until(lambda: recording_since(window))
    command.kill()
    command.communicate()
    until(lambda: is_complete(window))
    found = analyze(open_trace(window))
    assert found.complete, found.why
    assert len(found.processes) == 2
    if limit == ("--iterations", 20):
        assert found.iterations == 20


def test_a_window_that_start_has_begun_ends_without_stop(job: Job) -> None:
    window = next_window(job)
    command = asking(job, "start", "--max-seconds", 0.5)
    output, _ = command.communicate(timeout=60)
    assert f"{window} is being recorded, for 500 ms at most" in output
    until(lambda: is_complete(window))
    assert analyze(open_trace(window)).complete


def test_processes_end_a_window_themselves_and_others_follow(job: Job) -> None:
    """`rlscope record` is stopped meanwhile. It completes the window when it goes on."""
    window = next_window(job)
    command = asking(job, "window", "--seconds", 0.5)
    until(lambda: recording_since(window))
    job.process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: not recording_processes(window))
        assert not is_complete(window)
    finally:
        job.process.send_signal(signal.SIGCONT)
    command.communicate(timeout=60)
    assert command.returncode == 0
    reasons = {process.header.end_reason for process in open_trace(window).processes}
    assert reasons <= {EndReason.LIMIT, EndReason.STOPPED} and EndReason.LIMIT in reasons


def test_a_request_is_taken_back_while_record_does_not_look(job: Job) -> None:
    windows = windows_in(job.run)
    job.process.send_signal(signal.SIGSTOP)
    try:
        command = asking(job, "window", "--seconds", FOR_EVER)
        until(lambda: (job.run / ASKED_NAME).exists())
        command.terminate()
        assert command.wait(60) == 128 + signal.SIGTERM
    finally:
        job.process.send_signal(signal.SIGCONT)
    until(lambda: not (job.run / ASKED_NAME).exists())
    assert windows_in(job.run) == windows
    assert Asked(job.run).open_window is None


@pytest.mark.parametrize("content", ["garbage", "[]", '{"max_seconds": -1}', '{"no": "key"}'])
def test_what_is_no_request_is_thrown_away(job: Job, content: str) -> None:
    windows = windows_in(job.run)
    (job.run / ASKED_NAME).write_text(content)
    until(lambda: not (job.run / ASKED_NAME).exists())
    assert windows_in(job.run) == windows


@pytest.mark.parametrize("harm", ["truncate -s 0 {}", "printf '\\377\\377\\377\\377' >{}", "rm {}"])
def test_the_file_of_requests_is_changed(job: Job, harm: str) -> None:
    """The job goes on, as do requests and processes that start later, for the file is put right."""
    path = job.run / REQUESTS_NAME
    before = path.read_bytes()
    assert os.system(harm.format(shlex.quote(str(path)))) == 0
    until(lambda: path.exists() and path.read_bytes() == before)
    window = next_window(job)
    asked = call_here("window", job.run, "--iterations", 3)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert analyze(open_trace(window)).iterations == 3


def test_the_job_has_seen_nothing_of_all_that(job: Job) -> None:
    status, output, said = job.finish()
    assert status == 0 and int(output) > 0
    assert "Traceback" not in said and "not recorded" not in said, said


def test_a_process_that_reports_no_iterations_obeys_seconds(tmp_path: Path) -> None:
    with running(tmp_path, "--idle", words=("silent",)) as silent:
        command = asking(silent, "window", "--seconds", 0.5)
        window = next_window(silent)
        until(lambda: recording_since(window))
        command.kill()
        command.communicate()
        until(lambda: is_complete(window))
        assert analyze(open_trace(window)).complete


def test_a_window_ends_when_record_is_killed(tmp_path: Path) -> None:
    """Nobody else would end one of a flight recorder."""
    soon = "from rlscope.record.run import followed_windows; followed_windows.LOOKS_FOR_RECORD_NS = 300_000_000"
    with running(tmp_path, "--keep", "1h", at=soon) as kept:
        # It looks as often from the next window on.
        (kept.run / "window-1" / "config.json").unlink()
        window = kept.run / "window-2"
        until(lambda: recording_since(window))
        kept.process.kill()
        until(lambda: not recording_processes(window))
        (process,) = open_trace(window).processes
        assert process.header.end_reason == EndReason.STOPPED
        assert Path(f"/proc/{process.header.pid}").exists(), "the program goes on"
