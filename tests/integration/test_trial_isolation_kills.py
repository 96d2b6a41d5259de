"""Whoever is killed, and when: a trial leaves no file, process, mount or socket behind; as root and as a plain user."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from trial_users import FORBIDDING, PLAIN_USER, Place, differences, place_of, tree

#: Writes on and on, in four processes, of which two have left the group, the session and their parents.
WRITES_ON = """
import itertools, os, signal, sys, tempfile, threading, time
from pathlib import Path
import multiprocessing.shared_memory
if sys.argv[1] == "overlay":  # without name spaces it is left, as always when programs are killed
    name = os.path.basename(os.environ["MARK"]) + f"-{os.getpid()}"
    multiprocessing.shared_memory.SharedMemory(name, create=True, size=4096)
if not os.fork():
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.fork() and os._exit(0)
os.fork()
for number in itertools.count():
    Path("log.txt").write_text(str(number))
    Path(f"runs/{os.getpid()}-{number % 100}").write_text("new")
    Path(tempfile.gettempdir(), f"{os.getpid()}-{number % 100}").write_text("new")
    time.sleep(0.001)
"""
MOMENTS = 6


@pytest.fixture(params=["root", "plain"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    user = {"root": 0, "plain": PLAIN_USER if os.geteuid() == 0 else os.geteuid()}[request.param]
    with place_of(user) as made:
        yield made


def children(place: Place, parent: int) -> Iterator[tuple[int, bytes]]:
    """Yield processes that a process has started, and their words."""
    for pid in place.processes():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) == parent:
                yield pid, words
        except OSError:
            continue


def starter(place: Place, parent: int) -> int | None:
    """Return the first process of a trial in name spaces; the ones before only try whether there are any."""
    found = [pid for pid, words in children(place, parent) if b"start.py" in words and b"itertools" in words]
    return found[0] if found else None


def wait_until(what: Callable[[], object]) -> None:
    until_s = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until_s
        time.sleep(0.005)


def end(trial: subprocess.Popen[str], is_again: bool) -> None:
    """Wait for the end; Python may lose a Ctrl-C that comes while it imports, and who pressed it does so again."""
    for _ in range(6):
        try:
            trial.communicate(timeout=10)
            return
        except subprocess.TimeoutExpired:
            assert is_again
            os.killpg(trial.pid, signal.SIGINT)
    raise AssertionError("it did not end")


@pytest.mark.parametrize("kind", ["overlay", "copy"])
@pytest.mark.parametrize("killed", ["rlscope", "group", "starter", "ctrl-c"])
def test_a_kill_leaves_nothing(place: Place, kind: str, killed: str) -> None:
    """At a moment of the start, and at one at which the program writes, in turns."""
    if (kind, killed) == ("copy", "starter"):
        pytest.skip("a trial in a copy has none")
    forbidding = FORBIDDING if kind == "copy" else ()
    if (found := place.run("true", before=forbidding)).get("kind") != kind:
        pytest.skip(f"no {kind} here: {found}")
    before, mounts = tree(place.top, folders_too=kind == "overlay"), Path("/proc/mounts").read_text()
    chosen = random.Random(f"{killed} {kind}")
    for number in range(MOMENTS):
        program = (place.python, "-c", WRITES_ON, kind)
        trial = place.start(*program, before=forbidding, start_new_session=True)
        if killed == "starter":
            wait_until(lambda: starter(place, trial.pid))  # noqa: B023
        elif number % 2:
            started = 7 if kind == "overlay" else 6
            wait_until(lambda: len(place.processes()) >= started)  # noqa: B023
        time.sleep(chosen.uniform(0, 0.3))
        victim = starter(place, trial.pid) if killed == "starter" else trial.pid
        assert victim
        if killed in ("rlscope", "starter"):
            os.kill(victim, signal.SIGKILL)
        else:
            os.killpg(victim, signal.SIGINT if killed == "ctrl-c" else signal.SIGKILL)
        end(trial, is_again=killed == "ctrl-c")
        wait_until(lambda: not place.processes())
        assert not differences(before, tree(place.top, folders_too=kind == "overlay"))
    assert (Path("/proc/mounts").read_text(), place.left()) == (mounts, [])
