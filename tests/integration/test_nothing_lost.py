"""What is the user's stays: files, descriptors, a training that reports odd numbers, the status of a command."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recording import RLSCOPE, Recording, environment, record, rlscope

from rlscope.trace.manifest import read_unrecorded


def script(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


def as_left(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def trace_of_nothing(place: Path) -> Path:
    """What `record` leaves of a command that is no Python."""
    assert record(place, "true").returncode == 0
    return place


# `--force` removes nothing but a trace.


FOREIGN = {
    "a thesis beside a manifest of something else": {"manifest.json": "{}", "thesis.tex": "x"},
    "a manifest of something else": {"manifest.json": '{"format_version": 2, "header": {}}'},
    "a manifest that is no JSON": {"manifest.json": "{"},
    "an own file in a trace": {"thesis.tex": "x"},
    "an own file by the name of a process file": {"12-0.rlscope": "my notes"},
    "a folder in a trace": {"figures/loss.svg": "x"},
}


@pytest.mark.parametrize("files", FOREIGN.values(), ids=FOREIGN.keys())
def test_force_refuses_what_is_no_trace_and_names_it(files: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    if "manifest.json" in files:
        folder.mkdir()
    else:
        trace_of_nothing(folder)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    before = as_left(folder)
    forced = record(folder, "true", options=("--force",))
    assert forced.returncode == 2
    assert as_left(folder) == before
    (line,) = forced.stderr.splitlines()
    assert sorted(files)[-1].split("/")[0] in line and "--force removes nothing but a trace" in line


def test_force_follows_no_link(tmp_path: Path) -> None:
    trace = trace_of_nothing(tmp_path / "trace")
    (tmp_path / "link").symlink_to(trace)
    before = as_left(trace)
    forced = record(tmp_path / "link", "true", options=("--force",))
    assert (forced.returncode, as_left(trace)) == (2, before)
    assert f"{tmp_path / 'link'} is a link" in forced.stderr
    mine = tmp_path / "mine.csv"
    mine.write_text("mine")
    (trace / "utilization.csv").unlink(missing_ok=True)
    (trace / "utilization.csv").symlink_to(mine)
    forced = record(trace, "true", options=("--force",))
    assert (forced.returncode, mine.read_text()) == (2, "mine")
    assert "rlscope did not write: utilization.csv." in forced.stderr


def test_force_replaces_a_trace_and_keeps_its_directory(tmp_path: Path) -> None:
    """All that the recorder writes, of a killed process too; the working directory itself may be the trace."""
    trace = tmp_path / "trace"
    record(trace, sys.executable, "-c", "import time; time.sleep(0.6)", options=("--clock-port", "0"))
    assert {"manifest.json", "config.json", "unrecorded.txt", "utilization.csv"} <= as_left(trace).keys()
    (trace / "7-0.rlscope").write_bytes(bytes(4096))
    (trace / ".manifest.json.7").write_text("{")
    (trace / "counters-GPU-11.arrows").touch()
    inode = trace.stat().st_ino
    forced = rlscope("record", "--force", "-o", ".", "--", sys.executable, "-c", "pass", cwd=trace)
    assert forced.returncode == 0, forced.stderr
    assert trace.stat().st_ino == inode
    (process_file,) = [path.name for path in trace.glob("*.rlscope")]
    assert process_file != "7-0.rlscope" and json.loads((trace / "manifest.json").read_text())["complete"]
    fresh = {"manifest.json", "config.json", "unrecorded.txt", process_file}
    assert as_left(trace).keys() - {"utilization.csv"} == fresh


WAITING = "import sys; print('ready', flush=True); sys.stdin.readline()"
PROFILED = f"import rlscope\nwith rlscope.profile('trace'):\n    {WAITING}"


@pytest.mark.parametrize("is_profiled", [False, True], ids=["record", "profile"])
def test_force_refuses_a_trace_that_is_being_written(is_profiled: bool, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = [sys.executable, "-c", PROFILED if is_profiled else WAITING]
    writer = command if is_profiled else [*RLSCOPE, "record", "-o", str(trace), "--", *command]
    with subprocess.Popen(
        writer, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        forced = record(trace, "true", options=("--force",))
        assert forced.returncode == 2
        assert "another command still records into" in forced.stderr
        process.communicate(b"\n")
    assert process.returncode == 0
    assert Recording(trace, 0, "", "").main_sweep()["complete"]
    assert record(trace, "true", options=("--force",)).returncode == 0


def test_a_killed_recording_leaves_no_lock(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = [*RLSCOPE, "record", "-o", str(trace), "--", sys.executable, "-c", WAITING]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        process.wait()
        # What it recorded goes on alone, and so does its file.
        assert "still records into" in record(trace, "true", options=("--force",)).stderr
        process.communicate(b"\n")
    deadline = time.monotonic() + 20
    while (forced := record(trace, "true", options=("--force",))).returncode != 0:
        assert time.monotonic() < deadline, forced.stderr


# A program that closes our descriptors, and opens its own files by their numbers.


DESCRIPTORS = """
import os, socket, sys
import rlscope

def work():
    for _ in range(60_000):
        with rlscope.operation("work"):
            pass

how = sys.argv[1]
work()
links = {int(number): os.path.realpath("/proc/self/fd/" + number) for number in os.listdir("/proc/self/fd")}
numbers = [number for number, path in links.items() if path.endswith(".rlscope")]
assert numbers
os.closerange(3, 1024)
content = os.urandom(3_000_000)
with open("model.bin", "wb") as file:
    file.write(content)
if how == "file":
    mine = [open("model.bin", "r+b", buffering=0) for _ in range(12)]
elif how == "pipe":
    mine = [os.fdopen(end, mode, 0) for _ in range(6) for end, mode in zip(os.pipe(), ("rb", "wb"))]
else:
    mine = [socket.socket() for _ in range(12)]
for number in numbers:  # what the trace had is the program's now
    os.dup2(mine[0].fileno(), number)
numbers += [each.fileno() for each in mine]
before = [os.fstat(number).st_ino for number in numbers]
work()
if how == "file" and os.fork() == 0:
    work()
    os._exit(0)
if how == "file":
    os.wait()
work()
import atexit, _thread
assert before == [os.fstat(number).st_ino for number in numbers]
assert open("model.bin", "rb").read() == content
from rlscope.record import recorder
recorder.deactivate()  # the trace is complete: what was closed for it is seen now
assert before == [os.fstat(number).st_ino for number in numbers]
assert open("model.bin", "rb").read() == content
print("all mine")
"""


@pytest.mark.parametrize("how", ["file", "pipe", "socket"])
def test_a_program_that_closes_all_descriptors_keeps_its_files_and_is_recorded(how: str, tmp_path: Path) -> None:
    recorded = record(tmp_path / "trace", script(tmp_path, DESCRIPTORS), how)
    assert (recorded.returncode, recorded.stdout) == (0, "all mine\n"), recorded.stderr
    assert len((tmp_path / "model.bin").read_bytes()) == 3_000_000
    swept = recorded.main_sweep()
    assert (swept["events"]["operation"], swept["dropped_records"], swept["complete"]) == (180_000, 0, True)
    if how == "file":
        (child,) = [each for each in recorded.sweeps() if each["streams"] != swept["streams"]]
        assert (child["events"]["operation"], child["complete"]) == (60_000, True)


def test_a_trace_that_cannot_be_found_again_stops_the_recording_and_says_so(tmp_path: Path) -> None:
    text = DESCRIPTORS.replace("os.closerange(3, 1024)", "os.rename('trace', 'moved'); os.closerange(3, 1024)")
    recorded = record(tmp_path / "trace", script(tmp_path, text), "pipe")
    assert (recorded.returncode, recorded.stdout) == (0, "all mine\n"), recorded.stderr
    assert "The program goes on; what is lost is counted." in recorded.stderr
    swept = Recording(tmp_path / "moved", 0, "", "").main_sweep()
    assert not swept["complete"]
    # A frame that was open when the chunk was full is known by its begin alone.
    assert swept["events"]["operation"] + swept["dropped_records"] >= 180_000


# Numbers that a training reports.


PROGRESS = """
import sys
import rlscope

class Odd:
    def __index__(self):
        raise RuntimeError("two\\nlines")

class Five:
    def __index__(self):
        return 5

class Single(float):
    pass

for number in (5, True, Five(), 5.0, Single(5), 1e6):
    assert rlscope.report_progress(timesteps=number, total_timesteps=number) is None
for number in ("5", 1.5, -1, (1 << 64) - 1, 1 << 63, 1 << 56, float("nan"), float("inf"), None, b"5", 5j, Odd(), [5]):
    assert rlscope.report_progress(timesteps=number) is None
    assert number is None or rlscope.report_progress(timesteps=1, total_timesteps=number) is None
try:
    import numpy
except ImportError:
    pass
else:
    for kind in (numpy.int64, numpy.uint8, numpy.float32, numpy.float64):
        assert rlscope.report_progress(timesteps=kind(6), total_timesteps=kind(7)) is None
    assert rlscope.report_progress(timesteps=numpy.arange(3)) is None
print("trained")
"""


def test_odd_numbers_of_timesteps_end_no_training_and_damage_no_trace(tmp_path: Path) -> None:
    program = script(tmp_path, PROGRESS)
    plain = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment())
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, "trained\n", "")
    recorded = record(tmp_path / "trace", program)
    assert (recorded.returncode, recorded.stdout) == (0, "trained\n"), recorded.stderr
    said = [line for line in recorded.stderr.splitlines() if "report_progress" in line]
    assert said == [
        "rlscope: report_progress() was ignored: a whole number of timesteps was expected, '5' was found. "
        "The program goes on."
    ]
    trainings = recorded.main_sweep()["trainings"]  # fewer timesteps than before are of another one
    assert sum(each.iterations for each in trainings) == 6 + 4
    assert (trainings[-1].last_timesteps, trainings[-1].total_timesteps) == (6, 7)


# After the command has been started, nothing keeps its status from the caller.


EXITING = """
import os, pathlib, sys
import rlscope
trace = pathlib.Path(os.environ["RLSCOPE_TRACE"])
with rlscope.operation("work"):
    {what}
sys.exit(7)
"""
DAMAGES = {
    "garbage": '(trace / "manifest.json").write_text("{")',
    "replaced": '(trace / "manifest.json").write_text("{}")',
    "no object": '(trace / "manifest.json").write_text("[1]")',
    "not UTF-8": '(trace / "manifest.json").write_bytes(bytes([255]))',
    "removed": '(trace / "manifest.json").unlink()',
    "folder": '(trace / "manifest.json").unlink(); (trace / "manifest.json").mkdir()',
}


@pytest.mark.parametrize("what", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_manifest_keeps_no_status(what: str, tmp_path: Path) -> None:
    recorded = record(tmp_path / "trace", script(tmp_path, EXITING.format(what=what)))
    assert recorded.returncode == 7
    lines = recorded.stderr.splitlines()
    assert len([line for line in lines if "cannot be completed: " in line and "manifest.json" in line]) == 1
    assert all(line.startswith("rlscope: ") for line in lines) and len(lines) == 2, recorded.stderr


def test_a_full_stderr_keeps_no_status(tmp_path: Path) -> None:
    for status, ends in ((7, "exit 7"), (-15, "kill -TERM $$")):
        command = [*RLSCOPE, "record", "-o", str(tmp_path / f"trace{status}"), "--", "sh", "-c", ends]
        with Path("/dev/full").open("w") as full:
            assert subprocess.run(command, stderr=full, env=environment(), cwd=tmp_path).returncode == status


def test_a_tiny_disk_keeps_the_status_in_the_manifest(tmp_path: Path) -> None:
    """There is room for the files that recording begins with, so that the manifest is written over where it lies."""
    (tmp_path / "disk").mkdir()
    record_words = [*RLSCOPE, "record", "-o", str(tmp_path / "disk" / "trace"), "--", "sh", "-c", "sleep 0.5; exit 7"]
    mounted = f'mount -t tmpfs -o size=8k tmpfs {tmp_path / "disk"} || exit 99; "$@"'
    shown = f"status=$?; cat {tmp_path / 'disk' / 'trace' / 'manifest.json'}; exit $status"
    finished = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"{mounted}; {shown}", "sh", *record_words],
        capture_output=True, text=True, env=environment(), cwd=tmp_path,
    )  # fmt: skip
    if finished.returncode == 99 or "unshare" in finished.stderr:
        pytest.skip(f"a user may not mount a disk here: {finished.stderr}")
    assert finished.returncode == 7, finished.stderr
    assert "Traceback" not in finished.stderr
    assert "utilisation was not sampled to the end: No space left on device" in finished.stderr
    manifest = json.loads(finished.stdout)
    assert manifest["main_pid"] and (manifest["exit_status"], manifest["complete"]) == (7, True)


def test_an_interrupt_while_events_are_counted_keeps_no_status(tmp_path: Path) -> None:
    """Sent again and again until `record` has ended; what is left to do then is the line at its end."""
    ends = 'trap "" TERM; (while kill -TERM $PPID; do sleep 0.01; done) >/dev/null 2>&1 & exit 7'
    recorded = record(tmp_path / "trace", "sh", "-c", ends)
    assert recorded.returncode == 7, recorded.stderr
    assert json.loads((recorded.trace / "manifest.json").read_text())["exit_status"] == 7


# Pythons that do not read what recording starts by.


CHILDREN = """
import multiprocessing.util, os, subprocess, sys
how, option = sys.argv[1:]
words = [sys.executable, option, "-c", "pass"]
if how == "run":
    subprocess.run(words, check=True)
elif how == "named":
    subprocess.run(["worker", *words[1:]], executable=sys.executable, check=True)
elif how == "posix_spawn":
    os.waitpid(os.posix_spawn(sys.executable, words, os.environ), 0)
elif how == "spawnv":
    os.spawnv(os.P_WAIT, sys.executable, words)
elif how == "multiprocessing":
    os.waitpid(multiprocessing.util.spawnv_passfds(os.fsencode(sys.executable), words, []), 0)
elif how == "exec":
    os.execvpe(words[0], words, os.environ)
elif how == "after":
    subprocess.run([sys.executable, "-c", "pass", option], check=True)
elif how == "missing":
    try:
        subprocess.run(["/nowhere/python3", option])
    except FileNotFoundError:
        pass
"""


@pytest.mark.parametrize("option", ["-I", "-uS", "-E"])
@pytest.mark.parametrize("how", ["run", "named", "posix_spawn", "spawnv", "multiprocessing", "exec"])
def test_children_that_cannot_be_recorded_are_named(how: str, option: str, tmp_path: Path) -> None:
    recorded = record(tmp_path / "trace", script(tmp_path, CHILDREN), how, option)
    assert recorded.returncode == 0, recorded.stderr
    (unrecorded,) = read_unrecorded(recorded.trace)
    assert f": Python was started with -{option[-1]}, with which it " in unrecorded
    assert unrecorded in recorded.stderr.replace("\n", " ")
    assert not recorded.analysis["complete"]
    if option == "-I":
        assert unrecorded in " ".join(rlscope("inspect", recorded.trace).stdout.split())
        assert "Python was started with -I" in " ".join(rlscope("analyze", recorded.trace).stdout.split())


@pytest.mark.parametrize("how", ["after", "missing"])
def test_children_that_are_recorded_or_were_never_started_are_not_named(how: str, tmp_path: Path) -> None:
    recorded = record(tmp_path / "trace", script(tmp_path, CHILDREN), how, "-I")
    assert recorded.returncode == 0, recorded.stderr
    assert read_unrecorded(recorded.trace) == []
    assert recorded.analysis["complete"]


def test_a_command_that_cannot_be_recorded_is_told_why(tmp_path: Path) -> None:
    isolated = record(tmp_path / "isolated", sys.executable, "-I", "-c", "raise SystemExit(5)")
    assert isolated.returncode == 5
    assert "nothing was recorded: " in isolated.stderr and "Python was started with -I" in isolated.stderr
    other = record(tmp_path / "other", "sh", "-c", "exit 6")
    assert other.returncode == 6
    assert "nothing was recorded: the command started no Python that reads PYTHONPATH" in other.stderr


def test_what_starts_programs_is_as_it_was_when_recording_has_ended(tmp_path: Path) -> None:
    program = script(
        tmp_path,
        "import os, subprocess, _posixsubprocess, rlscope\n"
        "plain = os.execv, os.execve, os.posix_spawn, _posixsubprocess.fork_exec\n"
        "with rlscope.profile('trace'):\n"
        "    assert os.execve in os.supports_fd\n"
        "    assert subprocess.run(['true']).returncode == 0\n"
        "assert plain == (os.execv, os.execve, os.posix_spawn, _posixsubprocess.fork_exec)\n"
        "assert getattr(subprocess, '_fork_exec', plain[3]) is plain[3]\n",
    )
    assert subprocess.run([sys.executable, program], env=environment(), cwd=tmp_path).returncode == 0
    assert os.listdir(tmp_path / "trace")
