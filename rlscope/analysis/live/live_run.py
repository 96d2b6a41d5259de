"""This file looks at the last seconds of a run: at its trace, or of a run in windows at the newest of them."""

from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from rlscope.analysis.live.live_trace import LiveTrace, LiveView, fills_window
from rlscope.errors import TraceError
from rlscope.trace.reader import open_trace, troubles_of
from rlscope.trace.windows import REQUESTS_NAME, newest_windows

#: The newest window may be made ready without a process in it yet, and the one before may have just begun.
NEWEST = 3


class LiveRun:
    """A trace, or a run that is recorded in windows, that is looked at again and again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._trace = LiveTrace(directory)

    def look(self) -> LiveView:
        """Return the last seconds.

        Raises:
            TraceError: there is no trace, or it cannot be read.
            TraceFormatError: nothing of it can be used.
        """
        directory = newest_trace(self._directory)
        if directory != self._trace.directory:
            self._trace = LiveTrace(directory)
        view = self._trace.look()
        return view if directory == self._directory else replace(view, troubles=tuple(troubles_of(self._directory)))


def newest_trace(run: Path) -> Path:
    """Return the newest window that has ended or fills a look; else the newest of all, or the run itself."""
    if not (run / REQUESTS_NAME).exists():
        return run
    found = []
    for name in islice(newest_windows(run), NEWEST):
        with suppress(TraceError):
            trace = open_trace(run / name, recover=True)
            if fills_window(trace):
                return trace.directory
            found.append(trace.directory)
    return found[0] if found else run
