"""Signals at each step of the verbs: no traceback, nothing left running, the status of who was ended."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import psutil
import pytest
from adversary_runs import small_trace
from processes import is_alive, until
from recording import RLSCOPE, environment


def started(words: list[str], **options: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler), **options,
    )  # fmt: skip


#: Stops where the command line begins to be loaded, and at each module behind it that is named.
PAUSED = """
import runpy, sys
class Pause:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            print("here", flush=True)
            sys.stdin.read()
sys.meta_path.insert(0, Pause())
sys.argv[:] = ["rlscope", {verb!r}, *{words!r}]
runpy.run_module("rlscope", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["rlscope.cli.main", "click", "rlscope.cli.analyze", "rlscope.report.first_screen"])
def test_an_interrupt_while_a_verb_is_loaded_is_no_traceback(module: str, tmp_path: Path) -> None:
    trace = small_trace(tmp_path / "trace")
    code = PAUSED.format(module=module, verb="analyze", words=[str(trace)])
    with started([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "Traceback" not in said and process.returncode in (130, -signal.SIGINT), said


@pytest.mark.parametrize("name", ["SIGQUIT", "SIGALRM", "SIGPROF", "SIGVTALRM", "SIGIO", "SIGPWR"])
def test_what_ends_record_ends_the_command(name: str, tmp_path: Path) -> None:
    number = getattr(signal, name)
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(100)"
    with started([*RLSCOPE, "record", "-o", str(tmp_path / "trace"), "--", sys.executable, "-c", code]) as process:
        assert process.stdout is not None
        command = int(process.stdout.readline())
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == -number and not is_alive(command), said


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("how", ["loops", "whole runs"])
def test_calibrate_leaves_nothing_running(how: str, name: str, tmp_path: Path) -> None:
    code = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(100)"
    words = [*RLSCOPE, "calibrate", "-o", str(tmp_path / "calibration.json")]
    if how == "whole runs":
        words += ["--whole-runs", "--", sys.executable, "-c", code]
    with started(words, cwd=tmp_path) as process:
        own = psutil.Process(process.pid)
        if how == "whole runs":
            until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("."))
        else:
            until(lambda: own.children())
        below = own.children(recursive=True)
        process.send_signal(getattr(signal, name))
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + getattr(signal, name) and "Traceback" not in said
    until(lambda: not any(is_alive(child.pid) for child in below))
    assert not (tmp_path / "calibration.json").exists()


@pytest.mark.parametrize("verb", ["analyze", "report"])
def test_a_verb_that_is_ended_at_any_time_leaves_a_trace_as_it_was(verb: str, tmp_path: Path) -> None:
    trace = small_trace(tmp_path / "trace")
    before = {path.name: path.read_bytes() for path in trace.iterdir()}
    for delay_s in (0.05, 0.6, 1.2):
        words = [*RLSCOPE, verb, str(trace), *(["-o", str(tmp_path / "report")] if verb == "report" else [])]
        with started(words) as process:
            time.sleep(delay_s)
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGTERM) and "Traceback" not in said
    assert {path.name: path.read_bytes() for path in trace.iterdir()} == before
    assert os.listdir(trace)


#: Tells its own process and one that it starts, and what it is sent; ends at the first signal, after a moment.
ENDS_IN_ORDER = """
import os, pathlib, signal, subprocess, sys, time
def note(number, frame):
    with open("signals", "a") as file:
        file.write(f"{number} ")
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, note)
below = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
pathlib.Path("made").write_text(f"{os.getpid()} {below.pid}")
os.rename("made", "pids")
while not os.path.exists("signals"):
    time.sleep(0.01)
time.sleep(0.3)
"""
BENCHES = {
    "recorded": ("--", sys.executable, "train.py"),
    "recorded in a shell": (f"cd . && {sys.executable} train.py; true",),
    "timed in a shell": ("--time", f"cd . && {sys.executable} train.py; true"),
}


@pytest.mark.parametrize(
    ("how", "name"),
    [(how, "SIGTERM") for how in BENCHES] + [("recorded in a shell", "SIGINT"), ("recorded", "SIGHUP")],
)
def test_bench_leaves_nothing_running(how: str, name: str, tmp_path: Path) -> None:
    """Each process of the run gets the signal once, as from a terminal, those behind a shell too."""
    (tmp_path / "train.py").write_text(ENDS_IN_ORDER)
    number = getattr(signal, name)
    with started([*RLSCOPE, "bench", "-n", "3", "-o", "runs", *BENCHES[how]], cwd=tmp_path) as process:
        until((tmp_path / "pids").exists)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number and said.count("\n") == 1, said
    assert said.startswith(f"rlscope: error: ended by {name} in run-1 of ") and "--force" in said
    assert not [pid for pid in (tmp_path / "pids").read_text().split() if is_alive(int(pid))]
    assert (tmp_path / "signals").read_text().split() == [str(int(number))]
    assert os.listdir(tmp_path / "runs") == ["run-1.txt"]  # the run was none, so `compare` finds none


def in_a_terminal(words: list[str], cwd: Path, screen: int) -> "subprocess.Popen[bytes]":
    """As the first process of a terminal, which `ssh -t` makes it."""
    return subprocess.Popen(
        words, stdin=screen, stdout=screen, stderr=screen, cwd=cwd, env=environment(), start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip


@pytest.mark.parametrize(("verb", "name"), [("bench", "SIGINT"), ("bench", "SIGHUP"), ("record", "SIGHUP")])
def test_a_key_and_the_end_of_a_terminal_end_a_run(verb: str, name: str, tmp_path: Path) -> None:
    """Ctrl-C reaches all processes; that the terminal closes is said to the first one alone."""
    (tmp_path / "train.py").write_text(ENDS_IN_ORDER)
    command = BENCHES["recorded in a shell"] if verb == "bench" else ("--", sys.executable, "train.py")
    keyboard, screen = os.openpty()
    with in_a_terminal([*RLSCOPE, verb, "-o", "runs", *command], tmp_path, screen) as process:
        os.close(screen)
        until((tmp_path / "pids").exists)
        if name == "SIGINT":
            os.write(keyboard, b"\x03")
            assert process.wait(60) == 128 + signal.SIGINT
        os.close(keyboard)
        process.wait(60)
    assert (tmp_path / "signals").read_text().split() == [str(int(getattr(signal, name)))]
    if verb == "bench":
        assert not [pid for pid in (tmp_path / "pids").read_text().split() if is_alive(int(pid))]
    else:
        os.kill(int((tmp_path / "pids").read_text().split()[1]), signal.SIGKILL)


def test_a_signal_that_is_to_be_ignored_ends_no_bench(tmp_path: Path) -> None:
    """As under `nohup`, after the terminal was closed."""
    script = "touch begun; until test -e end; do sleep 0.05; done"
    words = ["nohup", *RLSCOPE, "bench", "--time", "-n", "2", "-o", "runs", script]
    with started(words, cwd=tmp_path, stdin=subprocess.DEVNULL) as process:
        until((tmp_path / "begun").exists)
        process.send_signal(signal.SIGHUP)
        (tmp_path / "end").touch()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert sorted(os.listdir(tmp_path / "runs")) == ["run-1.txt", "run-2.txt", "times.json"]


def test_a_process_that_heeds_no_signal_is_ended_with_bench(tmp_path: Path) -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('up', 'w'); time.sleep(1000)"
    script = f'{sys.executable} -c "{stubborn}" & echo $! >pid; wait'
    code = (
        "from rlscope.bench import one_run; one_run.PATIENCE_S = 0.2; from rlscope.cli.main import main; "
        "import sys; main(['bench', '--time', '-o', 'runs', sys.argv[1]])"
    )
    with started([sys.executable, "-c", code, script], cwd=tmp_path) as process:
        until((tmp_path / "up").exists)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    until(lambda: not is_alive(int((tmp_path / "pid").read_text())))
