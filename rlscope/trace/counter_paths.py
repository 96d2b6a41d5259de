"""This file names the files of a trace that hold samples of hardware counters. Standard library only."""

import os
from pathlib import Path

from rlscope.errors import TraceError

PREFIX, SUFFIX = "counters-", ".arrows"


def counters_path(directory: Path, uuid: str) -> Path:
    """Return the file of the device `uuid` in the trace in `directory`."""
    return directory / f"{PREFIX}{uuid}{SUFFIX}"


def counter_files(directory: str | os.PathLike[str]) -> list[Path]:
    """Return the files of the trace in `directory` that hold samples, by name; none in a run without counters.

    Raises:
        TraceError: the directory cannot be read.
    """
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise TraceError(f"the trace could not be read: {error}; make it readable") from error
    return [Path(directory, name) for name in names if name.startswith(PREFIX) and name.endswith(SUFFIX)]
