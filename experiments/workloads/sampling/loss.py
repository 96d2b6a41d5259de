"""This file finds processes that end before their time, at once, and names them in one line."""

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.process import BaseProcess
from typing import Any


class WorkersLostError(Exception):
    """Processes have ended while others still wait for them."""


class AllLostError(Exception):
    """No process is left that samples."""


@contextlib.contextmanager
def watching(processes: Sequence[BaseProcess]) -> Iterator[None]:
    """End the block when a process ends inside it.

    A signal tells, because pipes need not: other processes that were forked may keep their ends open.

    Raises:
        WorkersLostError: at whatever the block does when it happens.
    """

    def look(*_: object) -> None:
        if any(process.exitcode is not None for process in processes):
            raise WorkersLostError

    previous = signal.signal(signal.SIGCHLD, look)
    try:
        look()
        yield
    finally:
        signal.signal(signal.SIGCHLD, previous)


def tell(lost: dict[str, Any], left: str) -> None:
    """Write one line for people, on standard error."""
    print(
        f"sample.py: lost {lost['worker']} (pid {lost['pid']}), which ended {lost['ended']}; {left} go on",
        file=sys.stderr,
        flush=True,
    )
