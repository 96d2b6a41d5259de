"""This file names where the windows of a run lie, and what else lies beside them. Standard library only."""

from __future__ import annotations

import os
import re

from rlscope.trace.files import PROCESS_FILE_SUFFIX, open_regular

TYPE_CHECKING = False  # as `typing` has it, whose import every recorded process would pay for
if TYPE_CHECKING:
    from collections.abc import Iterator

#: Says where the page lies in which all processes of the run see what is asked for; a run without windows has none.
REQUESTS_NAME = "requests"
#: What a command asks `rlscope record` for, until that has taken it.
ASKED_NAME = "asked.json"
WINDOW = re.compile(r"window-\d+")
#: One line per iteration that was slow and window that it lies in: the window, seconds, and the median before it.
SLOW_NAME = "slow.txt"
#: One line for each kind of thing that `rlscope record` cannot do with the windows now.
TROUBLE_NAME = "trouble.txt"
MOST_TROUBLE_BYTES = 1 << 20
#: Numbers of requests are modulo this.
NUMBERS = 1 << 32


def window_of(run: str, number: int) -> str | None:
    """Return the trace of the window that a number asks for; None where it asks for none."""
    return f"{run}/window-{number // 2 + 1}" if number % 2 else None


def windows_in(run: str | os.PathLike[str]) -> list[str]:
    """Return the names of the windows that are there, the first one first."""
    return list(newest_windows(run))[::-1]


def newest_windows(run: str | os.PathLike[str]) -> Iterator[str]:
    """Find the windows that are there, the newest one first. What others call so, and is none, is left out."""
    names = [name for name in os.listdir(run) if WINDOW.fullmatch(name)]
    for name in sorted(names, key=lambda name: int(name[7:]), reverse=True):
        if is_window(os.path.join(run, name)):
            yield name


def is_window(path: str | os.PathLike[str]) -> bool:
    """Tell whether a folder holds a file of a trace. A link to one is no window."""
    try:
        return not os.path.islink(path) and any(
            name in ("manifest.json", "config.json") or name.endswith(PROCESS_FILE_SUFFIX) for name in os.listdir(path)
        )
    except OSError:
        return False


def read_trouble(run: str | os.PathLike[str]) -> list[str]:
    """Return what `rlscope record` cannot do with the windows of a run now, one sentence each.

    Raises:
        TraceFormatError: the file is no regular one, or larger than any.
        OSError: it cannot be read.
    """
    try:
        with open_regular(os.path.join(run, TROUBLE_NAME), MOST_TROUBLE_BYTES) as file:
            return [line for line in file.read(MOST_TROUBLE_BYTES).decode(errors="replace").splitlines() if line]
    except FileNotFoundError:
        return []
