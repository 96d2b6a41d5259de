"""This file runs one command to its end; who ends this process meanwhile ends all that the command has started."""

import ctypes
import math
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from rlscope.errors import RLScopeError
from rlscope.signals import wait_forwarding

#: What asks this process to end, where it is not to be ignored, as SIGHUP under `nohup`.
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: For what a run has started to end behind it.
PATIENCE_S = 10.0
LOOK_S = 0.02
PR_SET_CHILD_SUBREAPER = 36


class EndedError(RLScopeError):
    """This process was asked to end. Nothing of the run goes on.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int, where: str = "") -> None:
        super().__init__(f"ended by {signal.Signals(number).name}{where}")
        self.number = number
        self.status = 128 + number


def run(
    words: list[str],
    output: Path,
    is_recorded: bool,
    mask: set[signal.Signals],
    environment: Mapping[str, str] = os.environ,
    errors: Path | None = None,
    limit_s: float = math.inf,
) -> int:
    """Run a command while signals are held, with what it prints in a file.

    Args:
        words: The command.
        output: The file.
        is_recorded: Whether it is `rlscope record`, which hands signals on to its own command.
        mask: The signals that the command finds blocked.
        environment: Its variables.
        errors: Another file for its standard error.
        limit_s: Seconds that it may take.

    Returns:
        Its exit status, negative for the signal that ended it.

    Raises:
        OSError: it cannot be started.
        EndedError: this process was asked to end, and the run has ended.
        TimeoutError: it took longer than it may, and has ended.
    """
    if asked := _asking(signal.sigpending()):
        raise EndedError(min(asked))
    with output.open("wb") as file:
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, file.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, file.fileno(), 2)
            if errors is None
            else (os.POSIX_SPAWN_OPEN, 2, str(errors), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
        ]
        # Python ignores these two, which its children are not to inherit.
        defaults = (signal.SIGPIPE, signal.SIGXFSZ)
        pid = os.posix_spawnp(words[0], words, environment, file_actions=streams, setsigmask=mask, setsigdef=defaults)
    processes = _Processes(pid, is_recorded)
    try:
        ended = wait_forwarding(pid, processes.hand_on, limit_s)
    except TimeoutError:
        processes.hand_on(signal.SIGKILL)
        processes.end(signal.SIGKILL)
        raise
    if asked := _asking(ended.came):
        processes.end(min(asked))
        raise EndedError(min(asked))
    return ended.status


def _asking(signals: set[int]) -> set[int]:
    return {number for number in ENDING if number in signals and signal.getsignal(number) is not signal.SIG_IGN}


class _Processes:
    """A run's first process and all that this one started."""

    def __init__(self, pid: int, is_recorded: bool) -> None:
        self._pid = pid
        self._is_recorded = is_recorded
        self._told: set[psutil.Process] = set()

    def hand_on(self, number: int) -> None:
        """Send a signal to each process once, as a terminal does: a shell relies on that, and waits for its command."""
        # From now on the children of a process that ends are ours, so that they are found.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        below = _below()
        others = [process for process in below if process.pid != self._pid and not self._is_told_by_record(process)]
        with suppress(OSError):
            os.kill(self._pid, number)
        _send(number, others)
        self._told.update(below)

    def _is_told_by_record(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            return self._is_recorded and process.ppid() == self._pid
        return False

    def end(self, number: int) -> None:
        """End what goes on behind the first process: by the signal, then by SIGKILL."""
        deadline_s = time.monotonic() + PATIENCE_S
        while left := _below():
            if time.monotonic() > deadline_s:
                _send(signal.SIGKILL, left)
            _send(number, [process for process in left if process not in self._told])
            self._told.update(left)
            time.sleep(LOOK_S)
            with suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)


def _below() -> list[psutil.Process]:
    """Return the processes below this one that go on; none where /proc, which tells of them, is not mounted."""
    found = []
    if os.path.exists("/proc/self"):
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
    return found


def _send(number: int, processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)
