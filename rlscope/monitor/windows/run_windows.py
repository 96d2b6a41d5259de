"""The windows of a run: begun, ended, completed and removed by `rlscope record`, which lives as long as the run."""

import mmap
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any

from rlscope import _native
from rlscope.errors import RecordingError, RLScopeError
from rlscope.record.config import CONFIG_NAME, RecordConfig
from rlscope.record.run.requests import PAGE_BYTES, RequestsPage
from rlscope.record.run.trace_directory import begin_trace, end_trace, note_in_manifest
from rlscope.record.run.trace_files import bytes_of, is_held, remove_files
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.format import EndReason, FileHeader
from rlscope.trace.manifest import write_in_one_step
from rlscope.trace.reader import read_header
from rlscope.trace.windows import NUMBERS, REQUESTS_NAME, window_of, windows_in


class Windows:
    """The windows of a run. Each method does one thing, and raises where that cannot be done now.

    Args:
        run: Its directory, made by `begin_trace`.
        config: How the run is recorded.
        command: What is recorded.
        calibration: What recording costs on this machine, None if nobody measured it.

    Attributes:
        run: The directory.
        page: Where all processes of the run see what is asked for.
        main_pid: The process that the run began with, once it is started.
        completing: Held while a window is completed, and by who writes into the one that is open.

    Raises:
        RecordingError: the page cannot be made.
    """

    def __init__(self, run: Path, config: RecordConfig, command: list[str], calibration: dict[str, Any] | None) -> None:
        self.run = run
        self._config = config
        self._command = command
        self._calibration = calibration
        self.main_pid: int | None = None
        self.completing = threading.Lock()
        try:
            self._descriptor = _native.make_requests()  # stays open: processes of the run open it by its number
            self.page = RequestsPage(memoryview(mmap.mmap(self._descriptor, PAGE_BYTES)), os.getpid())
            inode = os.fstat(self._descriptor).st_ino
            if not os.path.exists(f"/proc/{os.getpid()}/fd/{self._descriptor}"):
                raise RecordingError("windows need /proc, which is not mounted: mount it, or record the whole run")
            self._where = f"{os.getpid()} {self._descriptor} {inode}\n"
            self._directory = os.stat(run).st_ino
            self._requests = os.path.join(run, REQUESTS_NAME)
            self._known = (0, 0, 0)
            self.look_after_requests()
        except OSError as error:
            raise RecordingError(f"cannot make what windows are asked for by: {error.strerror}") from error

    def look_after_requests(self) -> None:
        """Write again where the page lies, where others have changed that.

        Raises:
            RecordingError: the directory of the run is another one now.
            OSError: it is gone, or cannot be written.
        """
        if os.stat(self.run).st_ino != self._directory:
            raise RecordingError("another directory is in its place; move it back")
        with suppress(OSError):
            if _version_of(self._requests) == self._known:
                return
        write_in_one_step(Path(self._requests), self._where)
        self._known = _version_of(self._requests)

    @property
    def open_window(self) -> Path | None:
        """Return the trace of the window that is being recorded, None between windows."""
        return self.window(number) if (number := self.page.asked) % 2 else None

    @property
    def ready_window(self) -> Path | None:
        """Return the trace of the window that a process may ask for next, None where there is none."""
        return self.window(self.page.ready) if self.page.ready == self.page.asked + 1 else None

    def begin(self, max_iterations: int | None = None, max_seconds: float | None = None, asked_by: str = "") -> Path:
        """Ask all processes to record a new window, from where they end the one that is open if there is one.

        Args:
            max_iterations: Iterations to record; None for no limit.
            max_seconds: Seconds to record; None for no limit.
            asked_by: The id of the request; empty where nobody asked.

        Raises:
            RecordingError: the trace cannot be written.
        """
        number = self._next_number()
        window = self._make(number, max_iterations, max_seconds, asked_by)
        self.page.asked = number
        return window

    def end(self) -> None:
        """Ask all processes to end the window that is open, if one is."""
        if (number := self.page.asked) % 2:
            self.page.asked = number + 1

    def make_ready(self, max_seconds: float) -> Path | None:
        """Make the trace of the next window, of one iteration, which a process asks for at its own time.

        Returns:
            The trace; None if it is there already, or a window is being recorded.

        Raises:
            RecordingError: the trace cannot be written.
        """
        if self.page.asked % 2 or (self.ready_window is not None and (self.ready_window / CONFIG_NAME).exists()):
            return None
        number = self._next_number()
        window = self._make(number, 1, max_seconds, "")
        self.page.asked = number - 1  # no process asks while none is ready
        self.page.ready = number
        return window

    def _next_number(self) -> int:
        """Return the next number that asks for a window. What lies where that would is left alone: it is skipped."""
        number = self.page.asked
        while True:
            number = (number + 1 + number % 2) % NUMBERS
            if number != NUMBERS - 1 and not os.path.lexists(self.window(number)):  # the last one is none, see Gate
                return number

    def window(self, number: int) -> Path:
        """Return the trace of the window that a number asks for."""
        return Path(str(window_of(os.fspath(self.run), number)))

    def _make(self, number: int, max_iterations: int | None, max_seconds: float | None, asked_by: str) -> Path:
        window = self.window(number)
        config = copy(self._config)
        config.idle, config.keep, config.on_slow, config.every = False, None, None, None
        config.max_iterations, config.max_seconds = max_iterations, max_seconds
        try:
            os.close(begin_trace(window, config, self._command, False, self._calibration))
            note_in_manifest(window, main_pid=self.main_pid, **({"asked_by": asked_by} if asked_by else {}))
        except BaseException:
            with suppress(OSError):
                self.remove(window)
            raise
        return window

    def is_left(self, window: Path) -> bool:
        """Tell whether no process records a window any more, though the program goes on."""
        return not recording_processes(window) and self._is_running()

    def _is_running(self) -> bool:
        """Tell whether the program's first process runs; windows that it was killed in get its status later."""
        if self.main_pid is None:
            return True
        try:
            return os.waitid(os.P_PID, self.main_pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:  # somebody has waited for it
            return False

    def complete(self, window: Path, exit_status: int | None = None) -> None:
        """Complete the trace of a window that no process records any more.

        Raises:
            TraceError: its manifest is not the one that was written.
            OSError: it cannot be written.
        """
        with self.completing:
            end_trace(window, exit_status)

    def remove(self, window: Path) -> int:
        """Remove the files of a window, and its folder if nothing else is in it.

        Returns:
            How many bytes they had.

        Raises:
            UsageError: a process records into it, or reads what one that was killed left.
            OSError: a file cannot be removed.
        """
        removed = bytes_of(window)
        remove_files(window)
        with suppress(OSError):  # files that are not rlscope's stay
            window.rmdir()
        return removed


def _version_of(path: str) -> tuple[int, int, int]:
    """Return what changes when a file is written or replaced."""
    status = os.lstat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


def is_begun(window: Path) -> bool:
    """Tell whether a process has begun to record the window."""
    return any(True for _ in _headers(window))


def begun_windows(run: Path) -> list[Path]:
    """Return the traces of the windows that are there and that a process has begun, the first one first."""
    return [window for window in (run / name for name in windows_in(run)) if is_begun(window)]


def has_reached_limit(window: Path) -> bool:
    """Tell whether a process has recorded as much as the window is to have."""
    return any(header.end_reason == EndReason.LIMIT for _, header in _headers(window))


def recording_processes(window: Path) -> list[int]:
    """Return the processes that still record a window."""
    headers = _headers(window)
    return [header.pid for path, header in headers if not header.stop_ticks and is_held(path, header.pid)]


def _headers(window: Path) -> Iterator[tuple[Path, FileHeader]]:
    for path in window.glob(f"*{PROCESS_FILE_SUFFIX}"):
        with suppress(RLScopeError):  # it is being written, or is gone
            if (header := read_header(path)) is not None:
                yield path, header
