"""This file waits for a command, and hands on to it the signals that only this process was sent."""

import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

#: All that others send to end a program, or to tell it something.
FORWARDED = (
    signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT, signal.SIGALRM,
    signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPWR,
)  # fmt: skip
#: si_code of a signal that the terminal sent.
FROM_KERNEL = 0x80
WAITED_FOR = {*FORWARDED, signal.SIGCHLD}
#: One wait takes no number without an end.
_LONG_S = 3600.0


def hold_signals() -> set[signal.Signals]:
    """Block the signals that `wait_forwarding` waits for, and return which ones are blocked otherwise.

    Threads that begin before take signals that are meant for the command.
    """
    return {signal.Signals(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, WAITED_FOR)}


@contextmanager
def held_signals() -> Iterator[set[signal.Signals]]:
    """Block them while the block runs; gives which ones are blocked otherwise, for what is started in it."""
    before = hold_signals()
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Ended(NamedTuple):
    """The end of a child.

    Attributes:
        status: Its exit status, negative for the signal that ended it.
        user: The number of the user that it was then.
        came: All signals that came meanwhile.
    """

    status: int
    user: int
    came: set[int]


def wait_forwarding(pid: int, forward: Callable[[int], None], limit_s: float = math.inf) -> Ended:
    """Wait for a child while signals are held.

    Args:
        pid: Of the child.
        forward: Is given each signal that only this process was sent.
        limit_s: Seconds after which it is waited for no longer.

    Raises:
        TimeoutError: they have passed.
    """
    came: set[int] = set()
    deadline = time.monotonic() + limit_s
    while True:
        received = signal.sigtimedwait(WAITED_FOR, min(max(deadline - time.monotonic(), 0.0), _LONG_S))
        if received is None:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"process {pid} was to end within {limit_s:g} s")
            continue
        if received.si_signo != signal.SIGCHLD:
            came.add(received.si_signo)
            if not _has_reached_all(received):
                forward(received.si_signo)
            continue
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended == pid:
            return Ended(os.waitstatus_to_exitcode(status), received.si_uid, came)


def _has_reached_all(received: signal.struct_siginfo) -> bool:
    """Tell whether the command got the signal as well: from the terminal, which says to one process that it closes."""
    is_hangup = received.si_signo == signal.SIGHUP and os.getsid(0) == os.getpid()
    return received.si_code == FROM_KERNEL and not is_hangup
