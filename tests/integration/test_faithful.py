"""A recorded program ends, prints and handles signals as it would alone; what it did up to then is kept."""

import json
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
from rlscope.record.run.trace_directory import STARTUP_DIRECTORY


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


@pytest.mark.parametrize("how", ["abort", "exec", "segmentation_fault", "memory"])
def test_what_was_recorded_before_a_crash_is_kept(how: str, tmp_path: Path) -> None:
    plain = run_plain("behave.py", how)
    recorded = record(tmp_path / "trace", "behave.py", how)
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    assert own_lines(recorded.stderr) == plain.stderr.splitlines()
    assert recorded.main_sweep()["events"]["operation"] == 100
    # A MemoryError is an ordinary end; of the others nobody knows what was going on.
    assert recorded.analysis["complete"] == (how == "memory")
    inspected = rlscope("inspect", recorded.trace)
    assert inspected.returncode == 0
    assert ("did not end in an orderly way" in " ".join(inspected.stdout.split())) == (how != "memory")


def test_a_full_disk_stops_the_recording_and_not_the_program(tmp_path: Path) -> None:
    plain = run_plain("behave.py", "disk")
    recorded = record(tmp_path / "trace", "behave.py", "disk", options=("--layers", "simulator"))
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    (line,) = [line for line in recorded.stderr.splitlines() if "stopped:" in line]
    assert "File too large. The program goes on; what is lost is counted." in line
    swept = recorded.main_sweep()
    assert not swept["complete"]
    # All but the end of the operation that was open when the disk was full.
    assert swept["events"]["operation"] + swept["dropped_records"] == pytest.approx(200_100, abs=1)
    assert recorded.analysis["dropped_events"] == swept["dropped_records"]


def test_too_many_open_files_cost_nothing(tmp_path: Path) -> None:
    plain = run_plain("behave.py", "files")
    recorded = record(tmp_path / "trace", "behave.py", "files")
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    assert own_lines(recorded.stderr) == plain.stderr.splitlines()
    # A process has its file from the start; a child gives the one it inherited back before it opens its own.
    assert [swept["events"]["operation"] for swept in recorded.sweeps()] == [200, 100]
    assert len(recorded.analysis["machines"]) == 1  # although the child could not ask which one that is


def test_a_trace_directory_that_vanishes_is_one_clear_line(tmp_path: Path) -> None:
    plain = run_plain("behave.py", "vanish")
    recorded = record(tmp_path / "trace", "behave.py", "vanish")
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    said = [line.split(": ", 1)[1].split(" ")[0] for line in recorded.stderr.splitlines() if "rlscope: " in line]
    # Only a program that lives long enough for a first sample can have lost one.
    assert [word for word in said if word != "utilisation"] == [
        "process",  # the child is not recorded
        "the",  # trace cannot be completed
        "nothing",  # was recorded
    ]
    assert "Traceback" not in recorded.stderr


def test_a_trace_directory_that_becomes_read_only_is_one_clear_line(tmp_path: Path) -> None:
    plain = run_plain("behave.py", "read_only")
    # The superuser may write everywhere, unless it gives that up.
    powers = "-dac_override,-dac_read_search"
    as_anybody = ["setpriv", f"--bounding-set={powers}", "--"] if os.geteuid() == 0 else []
    command = [*RLSCOPE, "record", "-o", tmp_path / "trace", "--", sys.executable, SCRIPTS / "behave.py", "read_only"]
    finished = subprocess.run(
        [*as_anybody, *map(str, command)], capture_output=True, text=True, env=environment(), cwd=tmp_path
    )
    (tmp_path / "trace").chmod(0o755)
    assert (finished.returncode, finished.stdout) == (plain.returncode, plain.stdout)
    assert "Traceback" not in finished.stderr
    recorded = Recording(tmp_path / "trace", finished.returncode, finished.stdout, finished.stderr)
    assert recorded.main_sweep()["events"]["operation"] == 200_100  # what was open goes on
    inspected = json.loads(rlscope("inspect", recorded.trace, "--json").stdout)
    assert inspected["complete"] is False
    # Both children are counted: the one by fork and the one that is another program.
    assert ["Permission denied" in reason for reason in inspected["why"] if "is not recorded" not in reason][:2] == [
        True,
        True,
    ]


def test_an_output_that_cannot_be_written_is_refused_before_the_program_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for output in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/trace")):
        recorded = record(output, "behave.py", "exit", cwd=tmp_path)
        assert recorded.returncode == 2
        assert recorded.stdout == ""
        assert recorded.stderr.startswith("rlscope: error: ")
        assert recorded.stderr.count("\n") == 1


def test_recording_inside_a_recording_is_refused(tmp_path: Path) -> None:
    inner = [*RLSCOPE, "record", "-o", tmp_path / "inner", "--", sys.executable, "-c", "print('ran')"]
    recorded = record(tmp_path / "outer", *inner)
    assert recorded.returncode == 2
    assert recorded.stdout == ""
    assert own_lines(recorded.stderr) == []
    assert "this runs inside `rlscope record` already" in recorded.stderr
    assert not (tmp_path / "inner").exists()


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("-c", "print('ran')"), ""),
        (("-m", "this"), ""),
        (("-",), "print('ran')"),
        (("-W", "error", "-c", "print('ran')"), ""),
        (("-X", "warn_default_encoding", "-c", "print('ran')"), ""),
        (("-X", "dev", "-W", "error", "-c", "import threading, multiprocessing.util; print('ran')"), ""),
        (("-c", "import os, sys; os.chdir('/'); print(sys.stdin.read())"), "piped"),
    ],
)
def test_every_way_to_run_python(arguments: tuple[str, ...], stdin: str, tmp_path: Path) -> None:
    plain = subprocess.run([sys.executable, *arguments], input=stdin, capture_output=True, text=True, env=environment())
    recorded = subprocess.run(
        [*RLSCOPE, "record", "-o", str(tmp_path / "trace"), "--", sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    assert own_lines(recorded.stderr) == plain.stderr.splitlines()
    assert Recording(tmp_path / "trace", 0, "", "").analysis["complete"]


def test_paths_with_spaces_and_emoji(tmp_path: Path) -> None:
    directory = tmp_path / "a b \N{ROBOT FACE}"
    directory.mkdir()
    script = directory / "my script \N{ROBOT FACE}.py"
    script.write_text("print('ran')")
    recorded = record(directory / "trace \N{ROBOT FACE}", script)
    assert (recorded.returncode, recorded.stdout) == (0, "ran\n")
    assert recorded.analysis["complete"]


def start(trace: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [*RLSCOPE, "record", "-o", str(trace), "--", sys.executable, str(SCRIPTS / arguments[0]), *arguments[1:]]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), preexec_fn=heed_signals
    )


def heed_signals() -> None:
    """Shells let background jobs ignore SIGINT, nohup lets them ignore SIGHUP, and programs inherit that."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


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
    for number in range(8):
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
        swept = vars(_analysis.sweep(str(path)))
        assert swept["why"]
        counted = struct.unpack("<2Q", counts.read_bytes())
        recorded = sorted(stream.events for stream in swept["streams"])[-2:]
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


def test_a_sitecustomize_of_the_user_still_runs(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import os; os.environ['MINE'] = 'ran'\n")
    (tmp_path / "show.py").write_text("import os, sitecustomize; print(os.environ['MINE'], sitecustomize.__file__)\n")
    command = [*RLSCOPE, "record", "-o", str(tmp_path / "trace"), "--", sys.executable, str(tmp_path / "show.py")]
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "site"), *filter(None, [env.get("PYTHONPATH")])])
    finished = subprocess.run(command, capture_output=True, text=True, env=env)
    assert finished.stdout == f"ran {tmp_path / 'site' / 'sitecustomize.py'}\n"


def test_a_python_without_the_extension_is_named(tmp_path: Path) -> None:
    """The start-up hook of a package that lacks its extension, as another Python's would."""
    package = tmp_path / "rlscope" / "record" / "startup"
    package.mkdir(parents=True)
    (package / "sitecustomize.py").write_text((STARTUP_DIRECTORY / "sitecustomize.py").read_text())
    trace = tmp_path / "trace"
    trace.mkdir()
    env = {**environment(), "PYTHONPATH": str(package), "RLSCOPE_TRACE": str(trace)}
    finished = subprocess.run([sys.executable, "-c", "print('ran')"], capture_output=True, text=True, env=env)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "ran\n", "")
    analyzed = rlscope("analyze", trace)
    assert analyzed.returncode == 2
    assert "was recorded: process" in analyzed.stderr
    assert "rlscope is not installed for Python 3" in analyzed.stderr


def test_an_interpreter_without_site_runs_unrecorded(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-S", "-c", "print('alone')")
    assert (recording.returncode, recording.stdout) == (0, "alone\n")
    assert "nothing was recorded" in recording.stderr
