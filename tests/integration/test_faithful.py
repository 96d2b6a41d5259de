"""A recorded program ends, prints and handles signals as it would alone; what it did up to then is kept."""

import os
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recording import RLSCOPE, SCRIPTS, Recording, environment, record, rlscope, run_plain

from rlscope import _analysis


def own_lines(stderr: str) -> list[str]:
    """What the program wrote to stderr: without the line that `rlscope record` ends with."""
    return [line for line in stderr.splitlines() if not line.startswith("rlscope: ")]


@pytest.mark.parametrize(
    "arguments",
    [("exit",), ("exception",), ("os_exit",), ("daemon",), ("fork",), ("signal", "SIGKILL"), ("signal", "SIGTERM")],
)
def test_it_ends_and_prints_as_it_would_alone(arguments: tuple[str, ...], tmp_path: Path) -> None:
    plain = run_plain("behave.py", *arguments)
    recorded = record(tmp_path / "trace", "behave.py", *arguments)
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    assert own_lines(recorded.stderr) == plain.stderr.splitlines()
    assert recorded.main_sweep()["events"]["operation"] >= 100
    assert recorded.analysis["complete"] == (arguments[0] != "signal")
    assert recorded.analysis["processes"][0]["exit_status"] == plain.returncode


def start(trace: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [*RLSCOPE, "record", "-o", str(trace), "--", sys.executable, str(SCRIPTS / arguments[0]), *arguments[1:]]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())


def read_until_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "ready":
            return


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_signals_sent_to_record_reach_the_program(name: str, tmp_path: Path) -> None:
    process = start(tmp_path / "trace", "behave.py", "wait")
    read_until_ready(process)
    process.send_signal(getattr(signal, name))
    process.communicate(timeout=60)
    # Python turns SIGINT into KeyboardInterrupt, and ends by the signal all the same.
    assert process.returncode == -getattr(signal, name)


def test_a_handler_of_the_program_runs(tmp_path: Path) -> None:
    process = start(tmp_path / "trace", "behave.py", "handler")
    read_until_ready(process)
    process.send_signal(signal.SIGTERM)
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 5
    assert stdout == "handled SIGTERM\natexit\n"


def test_at_most_one_record_per_thread_is_lost_by_sigkill(tmp_path: Path) -> None:
    moments = random.Random(1)
    for number in range(20):
        counts = tmp_path / f"counts{number}"
        counts.write_bytes(bytes(16))
        trace = tmp_path / f"trace{number}"
        process = start(trace, "count_until_killed.py", str(counts))
        read_until_ready(process)
        time.sleep(moments.uniform(0, 0.2))
        (path,) = trace.glob("*.rlscope")
        os.kill(int(path.name.split("-")[0]), signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        swept = _analysis.sweep(str(path))
        assert not swept["complete"]
        counted = struct.unpack("<2Q", counts.read_bytes())
        recorded = sorted(stream["events"] for stream in swept["streams"])[-2:]
        assert sum(counted) > 100
        # An operation may have begun, or ended, after the last count: one or two records, an event at most.
        for done, found in zip(sorted(counted), recorded, strict=True):
            assert done <= found <= done + 1
        recording = Recording(trace, process.returncode, "", "")
        assert recording.analysis["complete"] is False


def test_a_command_that_does_not_exist_is_one_clear_line(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", "no-such-command")
    assert recording.returncode == 2
    assert recording.stderr == (
        "rlscope: error: cannot run 'no-such-command': No such file or directory; "
        "give a command that the shell would find\n"
    )


def test_a_directory_that_holds_a_trace_is_refused(tmp_path: Path) -> None:
    first = record(tmp_path / "trace", "behave.py", "exit")
    again = record(tmp_path / "trace", "behave.py", "exit")
    assert again.returncode == 2
    assert "holds a trace already" in again.stderr
    assert first.files == again.files
    forced = record(tmp_path / "trace", "behave.py", "exit", options=("--force",))
    assert forced.returncode == 3
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    other = record(tmp_path / "mine", "behave.py", "exit", options=("--force",))
    assert other.returncode == 2
    assert (tmp_path / "mine" / "notes.txt").exists()


@pytest.mark.parametrize(
    "arguments", [("record",), ("record", "--layers", "gpus", "--", "true"), ("analyze", "nowhere"), ("fly",)]
)
def test_user_errors_are_one_line_and_status_2(arguments: tuple[str, ...], tmp_path: Path) -> None:
    finished = rlscope(*arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stderr.startswith("rlscope: error: ")
    assert finished.stderr.count("\n") == 1


def test_a_sitecustomize_of_the_user_still_runs(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import os; os.environ['MINE'] = 'ran'\n")
    (tmp_path / "show.py").write_text("import os, sitecustomize; print(os.environ['MINE'], sitecustomize.__file__)\n")
    command = [*RLSCOPE, "record", "-o", str(tmp_path / "trace"), "--", sys.executable, str(tmp_path / "show.py")]
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "site"), *filter(None, [env.get("PYTHONPATH")])])
    finished = subprocess.run(command, capture_output=True, text=True, env=env)
    assert finished.stdout == f"ran {tmp_path / 'site' / 'sitecustomize.py'}\n"


def test_an_interpreter_without_site_runs_unrecorded(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-S", "-c", "print('alone')")
    assert (recording.returncode, recording.stdout) == (0, "alone\n")
    assert "nothing was recorded" in recording.stderr
