"""This file holds a lock that lets one command at a time record into a directory of results."""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rlscope.errors import UsageError

LOCK = ".lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Have the directory alone; the kernel gives it back however this process ends.

    Raises:
        UsageError: Another one has it.
    """
    with (directory / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise UsageError(
                f"expected no other command that records into {directory}, found {file.read().strip()}. "
                "Wait for its end, or choose another --output"
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}\n")
        file.flush()
        yield
