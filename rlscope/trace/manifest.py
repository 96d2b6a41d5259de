"""This file reads and writes `manifest.json`, which says what run a trace is of, and what was not recorded."""

import errno
import os
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from rlscope.errors import TraceError
from rlscope.trace.files import open_regular
from rlscope.trace.sealed import read_sealed, seal

MANIFEST_NAME = "manifest.json"
#: One line per process of the run that has no file: its id and why.
UNRECORDED_NAME = "unrecorded.txt"
#: As many are listed; the rest is counted.
LISTED_UNRECORDED = 100
#: No run has nearly as many processes.
MOST_UNRECORDED_BYTES = 1 << 26
#: Counts of windows and their bytes lie below that.
MOST_COUNTED = 1 << 63
#: A longer line counts as several.
MOST_LINE_BYTES = 1000
#: What a disk without room for more refuses with: it is full, has no inodes left, or the user may have no more of it.
OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT)
#: Nothing is written into what a link leads to, and nobody waits for a reader of a pipe.
_NO_OTHER_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_manifest(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest of the trace in `directory`; empty if there is none yet.

    Raises:
        TraceError: the file may not be read.
        TraceFormatError: the file is not a JSON object, not as it was written, or no regular file.
    """
    try:
        return read_sealed(Path(directory, MANIFEST_NAME)) or {}
    except OSError as error:
        raise TraceError(f"the manifest could not be read: {error}; make it readable") from error


def write_manifest(directory: str | os.PathLike[str], manifest: dict[str, Any]) -> None:
    """Replace the manifest."""
    write_in_one_step(Path(directory, MANIFEST_NAME), seal(manifest))


def write_in_one_step(path: Path, text: str) -> None:
    """Replace a file so that no reader sees half of it, and no link that somebody put there is followed.

    Where the disk is full, what is on it already is written over, in more steps than one.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    try:
        with unfinished.open("x", encoding="utf-8") as file:
            file.write(text)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        if error.errno not in OUT_OF_ROOM or not _write_over(path, text.encode()):
            raise


def _write_over(path: Path, data: bytes) -> bool:
    """Write into a file that is there, if that takes no more room than it has; tell whether it does not."""
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_WRONLY | _NO_OTHER_FILE)
        try:
            if len(data) <= os.fstat(descriptor).st_blocks * 512 and os.pwrite(descriptor, data, 0) == len(data):
                os.ftruncate(descriptor, len(data))
                return True
        finally:
            os.close(descriptor)
    return False


def overwritten(manifest: dict[str, Any]) -> tuple[int, int] | None:
    """Return how many windows of a run were overwritten, and their bytes; None where that is not known."""
    found = manifest.get("overwritten")
    counts = (found.get("windows"), found.get("bytes")) if isinstance(found, dict) else (None, None)
    windows, size = (count if type(count) is int and 0 <= count < MOST_COUNTED else None for count in counts)
    return None if windows is None or size is None else (windows, size)


def note_unrecorded(directory: str | os.PathLike[str], reason: str, pid: int | None = None) -> None:
    """Say in the trace that a process, this one or `pid`, is not part of it; without a new file in the directory.

    Raises:
        OSError: the trace cannot be written at all.
    """
    path = Path(directory, UNRECORDED_NAME)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_OTHER_FILE, 0o644)
    with os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{os.getpid() if pid is None else pid} {' '.join(reason.split())}\n")


def read_unrecorded(directory: str | os.PathLike[str]) -> list[str]:
    """Return which processes of the run have no file, and why; one sentence each.

    Raises:
        TraceError: the file may not be read.
        TraceFormatError: it is no regular file, or longer than any run makes it.
    """
    try:
        with open_regular(Path(directory, UNRECORDED_NAME), MOST_UNRECORDED_BYTES) as file:
            lines = (line.decode(errors="replace") for line in iter(lambda: file.readline(MOST_LINE_BYTES), b""))
            listed = [" ".join(line.split()) for line in islice(lines, LISTED_UNRECORDED)]
            rest = sum(1 for _ in lines)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TraceError(f"the list of unrecorded processes could not be read: {error}; make it readable") from error
    found = ["process {}: {}".format(*line.partition(" ")[::2]) for line in listed if line]
    return [*found, f"{rest} more processes were not recorded"] if rest else found
