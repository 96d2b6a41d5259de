"""Reads and writes what is known of a run beside its events: `manifest.json`, `unrecorded.txt` and `deaths.json`.

JSON carries checksums, so that a bit that flipped in a file is an error and not another number.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from rlscope.errors import TraceError, TraceFormatError
from rlscope.trace.files import MOST_JSON_BYTES, open_regular, read_regular

MANIFEST_NAME = "manifest.json"
DEATHS_NAME = "deaths.json"
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
_KEY = "crc32"
_BLOCK_BYTES = 1 << 20
_MOST_BYTES = 1 << 40


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


def write_deaths(directory: Path, deaths_ns: dict[str, int]) -> None:
    """Replace the list of a trace.

    Args:
        directory: Of the trace.
        deaths_ns: By the name of the process's file, CLOCK_MONOTONIC of the machine of `rlscope record`.

    Raises:
        OSError: it cannot be written.
    """
    write_in_one_step(directory / DEATHS_NAME, seal({"deaths": deaths_ns}))


def read_deaths(directory: Path) -> dict[str, int]:
    """Return what `write_deaths` wrote; empty where nobody died unexpectedly.

    Raises:
        TraceFormatError: it is not that.
        OSError: it cannot be read.
    """
    path = directory / DEATHS_NAME
    found = read_sealed(path)
    if found is None:
        return {}
    deaths = found.get("deaths")
    if not isinstance(deaths, dict) or not all(type(time_ns) is int for time_ns in deaths.values()):
        raise TraceFormatError(f"{path} does not say when processes ended; delete it and analyze again")
    return deaths


def seal(content: dict[str, Any]) -> str:
    """Return JSON of an object, with the checksum of all else in it as its last key."""
    return json.dumps({**content, _KEY: _crc32_of(content)}, indent=2) + "\n"


def unsealed(content: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the object that was read from `path` without its checksum, which files of older versions have not.

    Raises:
        TraceFormatError: it is not what was written.
    """
    rest = {key: value for key, value in content.items() if key != _KEY}
    if _KEY in content and content[_KEY] != _crc32_of(rest):
        raise TraceFormatError(
            f"{path} is not as rlscope wrote it: its checksum is {content[_KEY]}, that of what it holds is "
            f"{_crc32_of(rest)}; take a copy that is whole, or delete it"
        )
    return rest


def _crc32_of(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, indent=2).encode())


def read_sealed(path: Path) -> dict[str, Any] | None:
    """Return the object that a file holds, as `seal` wrote it; None where there is no file.

    Raises:
        TraceFormatError: it is no JSON object, not what was written, or no regular file.
        OSError: it cannot be read.
    """
    try:
        text = read_regular(path, MOST_JSON_BYTES).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise TraceFormatError(f"{path} is not UTF-8 at byte {error.start}; delete it and analyze again") from error
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceFormatError(f"{path} is not JSON: {error}; delete it and analyze again") from error
    if not isinstance(content, dict):
        raise TraceFormatError(f"{path} holds no JSON object; delete it and analyze again")
    return unsealed(content, path)


def crc32_of_file(path: Path) -> int:
    """Return the CRC-32 of all bytes of a file."""
    crc = 0
    with open_regular(path, _MOST_BYTES) as file:
        while block := file.read(_BLOCK_BYTES):
            crc = zlib.crc32(block, crc)
    return crc


def check_files(directory: Path, checksums: object) -> None:
    """Check the files of a trace against what its manifest says of them. One that is gone is nobody's loss.

    Args:
        directory: of the trace.
        checksums: from the manifest; None where the run goes on, or was recorded by an older version.

    Raises:
        TraceFormatError: a file is another one.
        OSError: a file cannot be read.
    """
    for name, expected in checksums.items() if isinstance(checksums, dict) else ():
        path = directory / Path(name).name
        if path.exists() and (found := crc32_of_file(path)) != expected:
            raise TraceFormatError(
                f"{path} is not as rlscope wrote it: the manifest says its checksum is {expected}, and it is {found}; "
                "take a copy that is whole, or delete it"
            )
