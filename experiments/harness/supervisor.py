"""This file runs a command that ends with its caller: once standard input closes, all that it has started is ended.

python -I supervisor.py CORES COMMAND…    CORES: numbers with commas between them, "" for all

The caller holds the other end of a pipe, which the kernel closes however the caller ends. Nothing is left behind
either when the command ends by itself. A run that went on after its caller would disturb the next one.
"""

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import psutil

SECONDS_TO_END_IN = 10
PR_SET_CHILD_SUBREAPER = 36


def main(cores: str, command: list[str]) -> None:
    """Run the command on these cores, and end as it ended.

    The work is a grandchild's: Ray kills the children of a worker that it ends, which must not end the one that is to
    end the command. If that one is killed all the same, this process does its work.
    """
    adopt_orphans()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # Ray's workers block SIGINT, which what they start inherits
    keeper = os.fork()
    if keeper:
        _, status = os.waitpid(keeper, 0)
        end_descendants()
        end_as(os.waitstatus_to_exitcode(status))
    adopt_orphans()
    if cores:
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=end_with_caller, daemon=True).start()
    status = process.wait()
    end_descendants()
    end_as(status)


def adopt_orphans() -> None:
    """Make descendants whose parent has ended children of this process, so that they are found."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_caller() -> None:
    """Wait for the end of standard input, then end the command."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    end_descendants()


def end_descendants() -> None:
    """End everything below this process: politely first, so that traces are closed."""
    signal_all(signal.SIGTERM)
    deadline = time.monotonic() + SECONDS_TO_END_IN
    while living() and time.monotonic() < deadline:
        time.sleep(0.02)
    while living():  # what is killed may have started something meanwhile
        signal_all(signal.SIGKILL)
        time.sleep(0.02)


def living() -> list[psutil.Process]:
    """Return the descendants that have not ended. Those that have are left for who waits for them."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def signal_all(number: signal.Signals) -> None:
    """Send a signal to every descendant."""
    for process in living():
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def end_as(status: int) -> None:
    """End this process with a status as `subprocess` gives it: negative for the signal that ended the command."""
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has left its own core, if any
        if -status != signal.SIGKILL:  # which cannot be caught, so needs no default
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
