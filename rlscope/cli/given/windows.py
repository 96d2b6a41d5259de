"""This file reads what `record` is given of windows: whether it waits for them, or keeps the last ones."""

import re
import shlex
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rlscope.errors import UsageError
from rlscope.monitor.kept_windows import KeptWindows, kept
from rlscope.monitor.windows import Windows
from rlscope.record.config import RecordConfig
from rlscope.trace.manifest import read_manifest

SECONDS = {"s": 1, "m": 60, "h": 3600}
BYTES = {"MB": 10**6, "GB": 10**9}
#: A window of each process takes 36 kB at least, and a run has eight.
LEAST_BYTES = 10 * 10**6
LEAST_SECONDS = 1


def check_windows(config: RecordConfig) -> None:
    """Refuse what says when to record beside --idle and --keep, and what is recorded of the whole run.

    Raises:
        UsageError: there is such an option, or what to keep is neither a time nor a size.
    """
    given = config.iteration_options.split(" and ") if config.iteration_options else []
    given += ["--max-seconds"] * (config.max_seconds is not None) + ["--clock-port"] * (config.clock is not None)
    given += ["--counters"] * bool(config.counters)
    if config.idle and given:
        option = "--idle" if config.keep is None else "--keep"
        raise UsageError(f"{option} records in windows; leave out {' and '.join(given)}")
    if config.keep is not None:
        parse_keep(config.keep)


def parse_keep(text: str) -> tuple[float | None, int | None]:
    """Return seconds or bytes to keep, and None for the other.

    Raises:
        UsageError: it is neither.
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(s|m|h|MB|GB)", text)
    if found is None:
        raise UsageError(f"a time such as 5m or a size such as 1GB was expected after --keep, but {text!r} was given")
    number, unit = float(found[1]), found[2]
    if unit in SECONDS:
        if number * SECONDS[unit] < LEAST_SECONDS:
            raise UsageError(f"--keep was given {text}; the shortest time is {LEAST_SECONDS}s")
        return number * SECONDS[unit], None
    if number * BYTES[unit] < LEAST_BYTES:
        raise UsageError(f"--keep was given {text}; the smallest size is {LEAST_BYTES // 10**6}MB")
    return None, int(number * BYTES[unit])


def keeping(directory: Path, config: RecordConfig) -> AbstractContextManager[KeptWindows | None]:
    """Return what keeps the last windows while it is entered, if that is wanted."""
    return nullcontext() if config.keep is None else kept(directory, *parse_keep(config.keep))


def summary_of_windows(directory: Path, shown: Path) -> str:
    """Return the line that a run which is recorded in windows ends with."""
    found = Windows(directory).traces()
    if not found:
        return f"no window was asked for; while the command runs, do that with rlscope window {shlex.quote(str(shown))}"
    last = shlex.quote(str(shown / found[-1].name))
    overwritten = read_manifest(directory).get("overwritten")
    before = (
        f" are kept; {overwritten['windows']:,} before them, of {overwritten['bytes'] / 1e6:.1f} MB, were overwritten"
        if overwritten is not None
        else ""
    )
    return f"{len(found)} window{'s' * (len(found) > 1)}{before}. Look at the last one: rlscope report {last} -o report"
