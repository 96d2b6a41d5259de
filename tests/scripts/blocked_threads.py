"""Threads that run, that are blocked in ways which no list of functions knows, and that end inside an operation."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import rlscope

LENGTH_S = 0.5
libc = ctypes.CDLL(None)


def compute(seconds: float) -> None:
    """Uses so much CPU time in Python."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def process_that_prints() -> "subprocess.Popen[str]":
    late = f"import time; time.sleep({LENGTH_S}); print('ready')"
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", late], stdout=subprocess.PIPE, text=True)


def readline() -> None:
    """Waits for a line of a process that prints late."""
    with process_that_prints() as process, rlscope.operation("readline"):
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"


def lines() -> None:
    """Waits for the same, by going through the lines."""
    with process_that_prints() as process, rlscope.operation("lines"):
        assert process.stdout is not None
        assert list(process.stdout) == ["ready\n"]


def usleep() -> None:
    """Is blocked in a native call that no list of functions has."""
    with rlscope.operation("usleep"):
        libc.usleep(int(LENGTH_S * 1e6))


def sigtimedwait() -> None:
    """Is blocked in a native function of the standard library that no list has."""
    with rlscope.operation("sigtimedwait"):
        signal.sigtimedwait([signal.SIGUSR1], LENGTH_S)


def spinning() -> None:
    """Six processes compute on fewer CPUs."""
    children = []
    for _ in range(3 * len(os.sched_getaffinity(0))):
        pid = os.fork()
        if pid == 0:
            with rlscope.operation("spin"):
                compute(LENGTH_S)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


def two_spinners() -> None:
    """Two threads compute in Python, of which the interpreter lets one run at a time."""

    def spin() -> None:
        with rlscope.operation("spin"):
            compute(LENGTH_S)

    thread = threading.Thread(target=spin)
    thread.start()
    spin()
    with rlscope.operation("join"):
        thread.join()


def ended_thread() -> None:
    """A thread ends inside an operation, and main computes in another one, natively."""
    import torch

    thread = threading.Thread(target=lambda: rlscope.operation("collect").__enter__())
    thread.start()
    thread.join()
    matrix = torch.rand(400, 400)
    start = time.monotonic()
    with rlscope.operation("inference"):
        while time.monotonic() < start + 2 * LENGTH_S:
            for _ in range(20):
                matrix @ matrix


PROGRAMS: dict[str, Callable[[], None]] = {
    program.__name__: program
    for program in (readline, lines, usleep, sigtimedwait, spinning, two_spinners, ended_thread)
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
    print(json.dumps({"length_s": LENGTH_S}))
