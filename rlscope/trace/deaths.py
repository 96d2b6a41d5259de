"""This file reads and writes `deaths.json`: when processes ended that could not say so themselves."""

from __future__ import annotations

from pathlib import Path

from rlscope.errors import TraceFormatError
from rlscope.trace.manifest import write_in_one_step
from rlscope.trace.sealed import read_sealed, seal

DEATHS_NAME = "deaths.json"


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
