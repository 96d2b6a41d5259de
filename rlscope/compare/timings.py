"""This file reads and writes the times of runs that `rlscope bench --time` made."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlscope.compare.run_times import Facts, RunTimes, timed
from rlscope.errors import TraceError, TraceFormatError
from rlscope.trace.files import MOST_JSON_BYTES, read_regular
from rlscope.trace.manifest import write_in_one_step

TIMINGS_NAME = "times.json"
SCHEMA = 1
#: As 64 bits hold them: 292 years.
MOST_NS = 2**63 - 1
#: So much of a wrong value says enough.
MOST_SHOWN = 40


@dataclass(frozen=True)
class Timing:
    """A timing says how long a run took, and when it began, in nanoseconds since 1970."""

    start_ns: int
    length_ns: int


def write_timings(directory: Path, command: Sequence[str], machine: str, timings: Sequence[Timing]) -> None:
    """Write what runs took that were only timed; after each of them anew, so that none is lost."""
    document = {
        "schema": SCHEMA,
        "command": list(command),
        "machine": machine,
        "runs": [{"start_realtime_ns": each.start_ns, "length_ns": each.length_ns} for each in timings],
    }
    write_in_one_step(directory / TIMINGS_NAME, json.dumps(document, indent=2) + "\n")


def read_timings(path: Path) -> list[RunTimes]:
    """Return the runs of such a file.

    Raises:
        TraceError: it may not be read.
        TraceFormatError: it is not what `write_timings` writes.
    """
    try:
        found = json.loads(read_regular(path, MOST_JSON_BYTES))
        facts = Facts(machine=str(found["machine"]), command=tuple(map(str, found["command"])))
        if found["schema"] != SCHEMA:
            raise ValueError(f"schema {SCHEMA} was expected, {found['schema']!r} was found")
        runs = [_run(path, entry, facts) for entry in found["runs"]]
        if not runs:
            raise ValueError("one run or more was expected, none was found")
    except OSError as error:
        raise TraceError(f"{path} could not be read: {error}; make it readable") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TraceFormatError(f"{path} holds no times of `rlscope bench --time`: {error}; run that again") from error
    return runs


def _run(path: Path, entry: Any, facts: Facts) -> RunTimes:
    return timed(path, _time_ns(entry, "length_ns", 1) / 1e9, _time_ns(entry, "start_realtime_ns", 0), facts)


def _time_ns(entry: Any, key: str, least: int) -> int:
    found = entry[key]
    if type(found) is not int or not least <= found <= MOST_NS:
        raise ValueError(f"a {key} from {least} to {MOST_NS} was expected, {_shortened(found)} was found")
    return found


def _shortened(found: object) -> str:
    text = repr(found)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
