"""The files that a trace consists of, and their removal: nothing that rlscope did not write is ever removed."""

import fcntl
import json
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from rlscope.errors import UsageError
from rlscope.record.config import CONFIG_NAME
from rlscope.trace.files import MOST_JSON_BYTES, PROCESS_FILE_SUFFIX
from rlscope.trace.manifest import DEATHS_NAME, MANIFEST_NAME, UNRECORDED_NAME
from rlscope.trace.utilization_file import UTILIZATION_NAME
from rlscope.trace.windows import ASKED_NAME, REQUESTS_NAME, SLOW_NAME, TROUBLE_NAME, WINDOW

#: The samples of the counters of a device.
COUNTERS_FILE = re.compile(r"counters-[\w.-]+\.arrows")
#: What `write_in_one_step` leaves of a file where it was killed, the samples of counters, and files of one name.
_OTHERS = re.compile(
    rf"\.({MANIFEST_NAME}|{CONFIG_NAME}|{DEATHS_NAME}|{REQUESTS_NAME}|{ASKED_NAME}|{TROUBLE_NAME})\.\d+"
    rf"|{COUNTERS_FILE.pattern}|{DEATHS_NAME}"
    rf"|{CONFIG_NAME}|{UNRECORDED_NAME}|{UTILIZATION_NAME}|{REQUESTS_NAME}|{ASKED_NAME}|{TROUBLE_NAME}|{SLOW_NAME}"
)
_PROCESS_FILE = re.compile(rf"\d+-\d+\{PROCESS_FILE_SUFFIX}")
_NAMED = 5
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def running_processes(directory: Path) -> set[int]:
    """Return the processes that still record into a file of the trace. A directory that is gone has none."""
    paths = [path for path in directory.glob(f"*{PROCESS_FILE_SUFFIX}") if _PROCESS_FILE.fullmatch(path.name)]
    return {_process_of(path) for path in paths if is_held(path, _process_of(path))}


def _process_of(path: Path) -> int:
    return int(path.name.split("-")[0])


def _is_running(process: int) -> bool:
    """Tell whether a process runs here, which one that has ended and nobody waited for does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b") ")[2][:1] not in b"ZX"


def lock_trace(directory: Path) -> int:
    """Has the trace in `directory` alone for as long as the descriptor that is returned is open.

    The kernel gives the lock back however this process ends. On a file system that knows no locks nobody is kept out.

    Raises:
        UsageError: another command records into the directory.
        OSError: the directory cannot be written.
    """
    descriptor = os.open(directory / UNRECORDED_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    if _is_locked(descriptor):
        os.close(descriptor)
        raise _is_being_written(directory)
    return descriptor


def files_of_trace(directory: Path) -> list[Path]:
    """Return all that lies in `directory`, and in the windows of a run in it, if all of it was written by rlscope.

    Raises:
        UsageError: something else lies there.
        OSError: the directory cannot be read.
    """
    windows = [path for path in directory.iterdir() if WINDOW.fullmatch(path.name) and _is_directory(path)]
    inside = [path for window in sorted(windows) for path in files_of_trace(window)]
    paths = inside + sorted(directory.iterdir())
    foreign = [path.name for path in paths if path not in windows and not _is_of_a_trace(path)]
    if not foreign:
        return paths
    more = f" and {len(foreign) - _NAMED} more" if len(foreign) > _NAMED else ""
    raise UsageError(
        f"{directory} holds what rlscope did not write: {', '.join(foreign[:_NAMED])}{more}. --force removes nothing "
        "but a trace; choose another directory, or move these away"
    )


def remove_trace(directory: Path) -> None:
    """Remove the files of the trace in `directory`, which stays, as does the list that `lock_trace` has locked.

    Raises:
        UsageError: something else lies there, or a process still records into it. Then nothing has been removed.
        OSError: a file cannot be removed.
    """
    paths = files_of_trace(directory)
    _refuse_what_is_held(directory, paths)
    for path in paths:
        if path == directory / UNRECORDED_NAME:
            os.truncate(path, 0)
        elif _is_directory(path):
            path.rmdir()
        else:
            path.unlink()


def remove_files(directory: Path) -> None:
    """Remove the files in `directory` that rlscope wrote. All else stays, and so does the directory.

    Raises:
        UsageError: a process still records into it. Then nothing has been removed.
        OSError: a file cannot be removed.
    """
    paths = [path for path in sorted(directory.iterdir()) if _is_of_a_trace(path)]
    _refuse_what_is_held(directory, paths)
    for path in paths:
        path.unlink(missing_ok=True)


def bytes_of(directory: Path) -> int:
    """Return how many bytes the files in `directory` take that have names of a trace, as far as that can be seen."""
    found = 0
    with suppress(OSError):
        for path in directory.iterdir():
            if path.name == MANIFEST_NAME or _PROCESS_FILE.fullmatch(path.name) or _OTHERS.fullmatch(path.name):
                with suppress(OSError):
                    found += path.lstat().st_size
    return found


def _refuse_what_is_held(directory: Path, paths: list[Path]) -> None:
    for path in paths:
        if _PROCESS_FILE.fullmatch(path.name) and is_held(path, _process_of(path)):
            raise _is_being_written(directory)


def _is_directory(path: Path) -> bool:
    return stat.S_ISDIR(path.lstat().st_mode)


def _is_of_a_trace(path: Path) -> bool:
    """Tell whether rlscope wrote it, by its name and, where others may use that, by its content; it writes no links."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return False
    if path.name == MANIFEST_NAME:
        return _is_manifest(_start_of(path, MOST_JSON_BYTES))
    if _PROCESS_FILE.fullmatch(path.name):
        from rlscope.trace.format import FILE_MAGIC  # which takes long to load, and only a removal needs

        start = _start_of(path, len(FILE_MAGIC))
        return start == FILE_MAGIC or not any(start)  # zeroes: its process was killed as recording began
    return _OTHERS.fullmatch(path.name) is not None


def _is_manifest(data: bytes) -> bool:
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and {"rlscope_version", "format_version"} <= manifest.keys()


def _start_of(path: Path, size: int) -> bytes:
    with os.fdopen(os.open(path, _READ), "rb") as file:
        return file.read(size)


def is_held(path: Path, process: int | None) -> bool:
    """Tell whether who writes the file, a recorder or `rlscope record`, still does: it has a lock on it.

    That is seen from every container, where processes have other numbers.

    Args:
        path: Of the file. One that is gone is not held.
        process: Who writes the file. On a file system that knows no locks it is held while a process of this number
            runs here.
    """
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return False
    try:
        is_locked = _is_locked(descriptor)
    finally:
        os.close(descriptor)
    return process is not None and _is_running(process) if is_locked is None else is_locked


def _is_locked(descriptor: int) -> bool | None:
    """Tell whether somebody else has a lock on the file; None where the file system knows no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


def _is_being_written(directory: Path) -> UsageError:
    return UsageError(
        f"another command still records into {directory} or reads it; wait for its end, or choose another directory"
    )
