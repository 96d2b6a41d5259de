"""This file names where the windows of a run lie, and where they are asked for. Standard library only."""

from __future__ import annotations

import os
import re

from rlscope.trace.files import open_regular

#: Holds one number, little-endian as the C++ side reads it, which all processes of the run have mapped. Each request
#: adds one; while it is odd, a window is recorded.
REQUESTS_NAME = "requests"
NUMBER_BYTES = 4
WINDOW = re.compile(r"window-\d+")
#: One line per iteration that was slow and window that it lies in: the window, seconds, and the median before it.
SLOW_NAME = "slow.txt"


def asked(run: str | os.PathLike[str]) -> int:
    """Return what all processes of a run are asked for.

    Raises:
        TraceFormatError: the file of requests is none.
        OSError: it cannot be read.
    """
    with open_regular(os.path.join(run, REQUESTS_NAME), NUMBER_BYTES) as file:
        return int.from_bytes(file.read(NUMBER_BYTES), "little")


def window_of(run: str, number: int) -> str | None:
    """Return the trace of the window that a number asks for; None where it asks for none."""
    return f"{run}/window-{number // 2 + 1}" if number % 2 else None


def windows_in(run: str | os.PathLike[str]) -> list[str]:
    """Return the names of the windows that are there, the first one first."""
    return sorted((name for name in os.listdir(run) if WINDOW.fullmatch(name)), key=lambda name: int(name[7:]))


def make_requests(run: str | os.PathLike[str]) -> None:
    """Make the file of requests of a run that has not started.

    Raises:
        OSError: it cannot be written.
    """
    with open(os.path.join(run, REQUESTS_NAME), "wb") as file:
        file.write(bytes(NUMBER_BYTES))


def ask(run: str | os.PathLike[str], number: int) -> None:
    """Ask all processes of a run for what a number says.

    Raises:
        OSError: the file of requests cannot be written.
    """
    descriptor = os.open(os.path.join(run, REQUESTS_NAME), os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.pwrite(descriptor, number.to_bytes(NUMBER_BYTES, "little"), 0)
    finally:
        os.close(descriptor)
