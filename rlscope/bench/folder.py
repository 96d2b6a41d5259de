"""The folder that a bench keeps its runs in: what lies there, and its removal, of nothing that is anything else."""

import os
import re
from contextlib import suppress
from pathlib import Path

from rlscope.compare.timings import TIMINGS_NAME
from rlscope.errors import RLScopeError, UsageError
from rlscope.record.run.trace_files import files_of_trace, lock_trace, remove_trace
from rlscope.trace.manifest import UNRECORDED_NAME

#: Of several commands each has such a folder.
SIDE = re.compile("[A-Z]")
RUN = re.compile(r"run-\d+")
#: What runs printed, their times, and what is left of these where writing them was interrupted.
FILE = re.compile(rf"(run-\d+|warm-up)\.txt|{TIMINGS_NAME}|\.{TIMINGS_NAME}\.\d+")


def remove_bench(folder: Path) -> None:
    """Remove all that a bench left in a folder, which stays.

    Raises:
        UsageError: something else lies there. Then nothing has been removed.
        OSError: a file cannot be removed.
    """
    for path in _parts(folder):
        if not path.is_dir():
            path.unlink()
        elif RUN.fullmatch(path.name):
            _remove_run(path)
        else:
            path.rmdir()


def remove_ended_run(trace: Path) -> None:
    """Remove a run that was ended: it is none to compare. What cannot be removed stays."""
    with suppress(RLScopeError, OSError):
        if trace.is_dir():
            _remove_run(trace)


def _remove_run(trace: Path) -> None:
    lock = lock_trace(trace)
    try:
        remove_trace(trace)
    finally:
        os.close(lock)
    (trace / UNRECORDED_NAME).unlink()
    trace.rmdir()


def _parts(folder: Path) -> list[Path]:
    """Return what lies in the folder of a bench, what is inside of a side's folder before that one.

    Raises:
        UsageError: a bench did not write all of it.
    """
    found: list[Path] = []
    for path in sorted(folder.iterdir()):
        is_folder = path.is_dir() and not path.is_symlink()
        if is_folder and RUN.fullmatch(path.name):
            files_of_trace(path)
        elif is_folder and SIDE.fullmatch(path.name):
            found += _parts(path)
        elif is_folder or path.is_symlink() or not path.is_file() or not FILE.fullmatch(path.name):
            raise UsageError(
                f"{folder} holds what rlscope did not write: {path.name}. --force removes nothing but the runs of a "
                "bench; choose another -o, or move that away"
            )
        found.append(path)
    return found
