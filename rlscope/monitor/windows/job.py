"""A job that `rlscope record --idle` has started, as commands beside it see it: they ask, and wait for what comes."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from rlscope.errors import RLScopeError, UsageError
from rlscope.monitor.windows.request import Request, read_request
from rlscope.monitor.windows.run_windows import has_reached_limit, is_begun, recording_processes
from rlscope.record.config import RecordConfig
from rlscope.record.run.trace_files import is_held
from rlscope.trace.manifest import UNRECORDED_NAME, read_manifest
from rlscope.trace.windows import REQUESTS_NAME, newest_windows

LOOK_AGAIN_S = 0.02
#: A window that was just begun is one of so many: others may have made folders of later names.
NEWEST = 10

#: Told, while a command waits, what for: the processes that have not ended their recording, if that is it.
OnWaiting = Callable[[list[int]], object]


class Job:
    """A job.

    Args:
        run: Its directory.

    Raises:
        UsageError: none is there, or `rlscope record --keep` or `--every` asks for its windows.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        if not (run / REQUESTS_NAME).is_file():
            raise UsageError(
                f"{run} is no run that waits for windows; start the program with "
                f"`rlscope record --idle -o {run} -- COMMAND`"
            )
        try:
            config = RecordConfig.load(run)
        except (OSError, ValueError) as error:
            raise UsageError(f"how {run} is recorded cannot be read: {error}; start the program again") from error
        if config.every is not None:
            raise UsageError(
                f"of {run} one iteration of every {config.every} is recorded; look at it: rlscope analyze {run}"
            )
        if config.keep is not None:
            raise UsageError(
                f"{run} is recorded all the time; look at the last of its windows: rlscope analyze {run}/window-N"
            )

    def is_running(self) -> bool:
        """Tell whether `rlscope record` lives, which it does as long as the program."""
        return is_held(self.run / UNRECORDED_NAME, _number_in(self.run / REQUESTS_NAME))

    @property
    def open_window(self) -> Path | None:
        """Return the window that is not complete; None if there is none."""
        newest = next(newest_windows(self.run), None)
        if newest is None or _manifest_of(self.run / newest).get("complete"):
            return None
        return self.run / newest

    def begin(self, request: Request, on_waiting: OnWaiting) -> Path:
        """Ask for a window, and return its trace.

        Raises:
            UsageError: a window is recorded already, or the program has ended.
        """
        self._ask(request, on_waiting)
        if (window := self._window_of(request)) is None:
            if not self.is_running():
                raise self._has_ended()
            raise UsageError(f"{self.open_window or self.run} is being recorded; end it with `rlscope stop {self.run}`")
        return window

    def take_back(self, request: Request, on_waiting: OnWaiting) -> None:
        """End the window of a request, wherever `begin` was interrupted."""
        if self._is_pending(request):
            Request(ends=request.id).write(self.run)  # `rlscope record` may be about to take the other one
            return
        self._ask(Request(ends=request.id), on_waiting)
        if (window := self._window_of(request)) is not None:
            self.await_end(window, 0, on_waiting)

    def end(self, window: Path, on_waiting: OnWaiting) -> None:
        """Ask for the end of a window, and wait until its trace is complete.

        Raises:
            UsageError: nobody completes it.
        """
        if self._is_incomplete(window) and self.is_running():
            self._ask(Request(ends=window.name), on_waiting)
        self.await_end(window, 0, on_waiting)

    def await_end(self, window: Path, seconds: float, on_waiting: OnWaiting) -> None:
        """Wait until the trace of a window is complete.

        Args:
            window: The trace.
            seconds: So long it is to be; only what takes longer is waited for.
            on_waiting: Told of the processes that are late.

        Raises:
            UsageError: nobody completes it.
        """
        over_s = time.monotonic() + seconds
        while self._is_incomplete(window):
            if not self.is_running() and self._is_incomplete(window):
                raise UsageError(f"`rlscope record` was killed before it completed {window}; it holds what there is")
            if time.monotonic() > over_s or has_reached_limit(window):
                on_waiting(recording_processes(window))
            time.sleep(LOOK_AGAIN_S)

    def await_begin(self, window: Path, on_waiting: OnWaiting) -> None:
        """Wait until a process records.

        Raises:
            UsageError: the program has ended, and recorded nothing.
        """
        while not is_begun(window):
            if not self.is_running():
                raise UsageError(f"the program ended before a process of it recorded anything into {window}")
            if not self._is_incomplete(window):
                raise UsageError(f"{window} was ended before a process of the program recorded anything into it")
            on_waiting([])
            time.sleep(LOOK_AGAIN_S)

    def _ask(self, request: Request, on_waiting: OnWaiting) -> None:
        """Wait until `rlscope record` has taken a request.

        Raises:
            UsageError: the program has ended.
        """
        with self._alone():
            if not self.is_running():
                raise self._has_ended()
            request.write(self.run)
            while self._is_pending(request) and self.is_running():
                on_waiting([])
                time.sleep(LOOK_AGAIN_S)

    def _is_pending(self, request: Request) -> bool:
        with suppress(RLScopeError):
            return read_request(self.run) == request
        return False

    def _window_of(self, request: Request) -> Path | None:
        """Return the window that was made for a request."""
        for name in islice(newest_windows(self.run), NEWEST):
            if _manifest_of(self.run / name).get("asked_by") == request.id:
                return self.run / name
        return None

    def _is_incomplete(self, window: Path) -> bool:
        return window.is_dir() and not _manifest_of(window).get("complete")

    def _has_ended(self) -> UsageError:
        return UsageError(f"the program that was recorded into {self.run} has ended; start it again")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no other command ask meanwhile, where the file system knows locks."""
        descriptor = os.open(self.run / REQUESTS_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _manifest_of(window: Path) -> dict[str, object]:
    with suppress(RLScopeError):  # somebody has put another file in its place
        return read_manifest(window)
    return {}


def _number_in(path: Path) -> int | None:
    """Return the number of the process that has started the job, on a file system that knows no locks."""
    with suppress(OSError, ValueError, IndexError):
        return int(path.read_bytes()[:100].split()[0])
    return None
