"""This file reads what `record` is given of windows: whether it waits for them, keeps the last ones, or samples."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rlscope.calibration.calibration import to_record_with
from rlscope.errors import UsageError
from rlscope.record.config import RecordConfig

if TYPE_CHECKING:
    from rlscope.monitor.windows.window_keeper import WindowKeeper

Say = Callable[[str], object]

SECONDS = {"s": 1, "m": 60, "h": 3600}
BYTES = {"MB": 10**6, "GB": 10**9}
#: A window of each process takes 36 kB at least, and a run has eight.
LEAST_BYTES = 10 * 10**6
LEAST_SECONDS = 1


def check_windows(config: RecordConfig) -> None:
    """Refuse what says when to record beside --idle, --keep and --every, and what is recorded of the whole run.

    Raises:
        UsageError: there is such an option, or what to keep is neither a time nor a size.
    """
    given = config.iteration_options.split(" and ") if config.iteration_options else []
    given += ["--max-seconds"] * (config.max_seconds is not None) + ["--clock-port"] * (config.clock is not None)
    given += ["--counters"] * bool(config.counters)
    option = "--keep" if config.keep is not None else "--every" if config.every is not None else "--idle"
    given += ["--every"] * (option == "--keep" and config.every is not None)
    if config.idle and given:
        raise UsageError(f"{option} records in windows; leave out {' and '.join(given)}")
    if config.keep is not None:
        parse_keep(config.keep)
    elif config.on_slow is not None:
        raise UsageError("--on-slow says which windows stay of those that --keep keeps; give --keep 5m, say, too")


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


def parse_on_slow(text: str | None) -> float | None:
    """Return how many times the median is slow.

    Raises:
        UsageError: it is no such number.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)x", text)
    if found is None or float(found[1]) <= 1:
        raise UsageError(f"a factor above 1 such as 3x was expected after --on-slow, but {text!r} was given")
    return float(found[1])


def keeper_of(directory: Path, config: RecordConfig, command: list[str], say: Say) -> "WindowKeeper | None":
    """Return what looks after the windows of a run that is about to start, None for a run without windows.

    Args:
        directory: Of the run.
        config: How it is recorded.
        command: What is recorded.
        say: Tells the user one line.

    Raises:
        RecordingError: windows cannot be asked for.
    """
    if not config.idle:
        return None
    # What reads traces takes long to load, and most records have no windows.
    from rlscope.monitor.windows.asked_windows import AskedWindows
    from rlscope.monitor.windows.kept_windows import KeptWindows
    from rlscope.monitor.windows.run_windows import Windows
    from rlscope.monitor.windows.sampled_windows import SampledWindows

    windows = Windows(directory, config, command, to_record_with())
    if config.keep is not None:
        return KeptWindows(windows, say, *parse_keep(config.keep))
    return SampledWindows(windows, say) if config.every is not None else AskedWindows(windows, say)
