"""Windows of a running job: asks its processes to record and to stop, and completes the traces."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rlscope.errors import RecordingError, RLScopeError, UsageError
from rlscope.record.config import RecordConfig
from rlscope.record.run.trace_directory import begin_trace, end_trace, name_main_process
from rlscope.record.run.trace_files import is_held, remove_trace
from rlscope.trace.files import PROCESS_FILE_SUFFIX
from rlscope.trace.format import EndReason, FileHeader
from rlscope.trace.manifest import MANIFEST_NAME, UNRECORDED_NAME, note_unrecorded, read_manifest
from rlscope.trace.reader import read_header
from rlscope.trace.windows import REQUESTS_NAME, ask, asked, window_of, windows_in

LOOK_AGAIN_S = 0.02


class Windows:
    """The windows of a run that `rlscope record --idle` has started.

    Args:
        run: Its directory.

    Raises:
        UsageError: no such run is there.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self._requests = run / REQUESTS_NAME
        if not self._requests.is_file():
            raise UsageError(
                f"{run} is no run that waits for windows; start the program with "
                f"`rlscope record --idle -o {run} -- COMMAND`"
            )

    @property
    def open_window(self) -> Path | None:
        """Return the trace of the window that is being recorded, None between windows."""
        directory = window_of(os.fspath(self._run), self._number())
        return Path(directory) if directory is not None else None

    def begin(self, max_iterations: int | None = None) -> Path:
        """Ask all processes of the run to record, and return where.

        Raises:
            UsageError: a window is recorded already, or the program has ended.
            RecordingError: the trace cannot be written.
        """
        with self._alone():
            main_pid = self._main_pid()
            if self.open_window is not None:
                raise UsageError(f"{self.open_window} is being recorded; end it with `rlscope stop {self._run}`")
            return self._begin(self._number() + 1, main_pid, max_iterations)

    def begin_next(self) -> Path:
        """Ask all processes to record a new window from where they end the one that is open, if there is one.

        Raises:
            UsageError: the program has ended.
            RecordingError: the trace cannot be written.
        """
        with self._alone():
            main_pid, number = self._main_pid(), self._number()
            return self._begin(number + 1 + number % 2, main_pid, None)

    def make_ready(self) -> Path | None:
        """Make the trace of the next window, of one iteration, which a process asks for at its own time.

        Returns:
            The trace; None if it is there already, or a window is being recorded.

        Raises:
            UsageError: the program has ended.
            RecordingError: the trace cannot be written.
        """
        main_pid, number = self._main_pid(), self._number() + 1
        if number % 2 == 0 or (self._window(number) / MANIFEST_NAME).exists():
            return None
        return self._make(number, main_pid, max_iterations=1)

    def _window(self, number: int) -> Path:
        return Path(str(window_of(os.fspath(self._run), number)))

    def _begin(self, number: int, main_pid: int, max_iterations: int | None) -> Path:
        window = self._make(number, main_pid, max_iterations)
        ask(self._run, number)
        return window

    def _make(self, number: int, main_pid: int, max_iterations: int | None) -> Path:
        window = self._window(number)
        manifest = read_manifest(self._run)
        config = RecordConfig.load(self._run)
        config.idle, config.keep, config.on_slow, config.every = False, None, None, None
        config.max_iterations = max_iterations
        os.close(begin_trace(window, config, manifest.get("command"), False, manifest.get("calibration")))
        name_main_process(window, main_pid)
        return window

    def end(self, exit_status: int | None = None, on_waiting: Callable[[list[int]], bool] | None = None) -> Path:
        """Ask all processes to stop, wait until they have, and complete the trace of the window.

        Args:
            exit_status: Of the program, if it has ended.
            on_waiting: Told, at each look, of the processes that are waited for; true ends the waiting.

        Raises:
            UsageError: no window is recorded.
        """
        with self._alone():
            window = self.open_window
            if window is None:
                raise UsageError(
                    f"no window of {self._run} is being recorded; begin one with `rlscope start {self._run}`"
                )
            ask(self._run, self._number() + 1)
        while recording := recording_processes(window):
            if on_waiting is not None and on_waiting(recording):
                break
            time.sleep(LOOK_AGAIN_S)
        self.complete(window, exit_status)
        return window

    def end_all(self, exit_status: int, on_waiting: Callable[[list[int]], bool]) -> None:
        """End what is open and complete what is not, once the program has ended. The arguments are those of `end`."""
        if self.open_window is not None:
            self.end(exit_status, on_waiting)
        for window in self.traces():
            if not read_manifest(window).get("complete"):
                self.complete(window, exit_status)
        if (made_ready := self._window(self._number() + 1)).is_dir():
            self.remove(made_ready)

    def is_left(self, window: Path) -> bool:
        """Tell whether no process records the window any more, and the first one was not killed in it."""
        main_pid = read_manifest(self._run).get("main_pid")
        was_killed = any(header.pid == main_pid and not header.stop_ticks for header in _headers(window).values())
        return not was_killed and not recording_processes(window)

    def complete(self, window: Path, exit_status: int | None = None) -> None:
        """Complete the trace of a window that no process records any more.

        Raises:
            RecordingError: it is gone.
        """
        if not read_manifest(window):
            raise RecordingError(f"{window} was removed while it was recorded; record into a directory that stays")
        end_trace(window, exit_status)

    def remove(self, window: Path) -> None:
        """Remove the trace of a window."""
        remove_trace(window)
        (window / UNRECORDED_NAME).unlink()
        window.rmdir()

    def give_up(self, window: Path, reason: str) -> None:
        """Take back what was asked for, because nobody followed."""
        note_unrecorded(window, reason, read_manifest(self._run)["main_pid"])
        self.end()

    def is_running(self) -> bool:
        """Tell whether the program runs, for whose end `rlscope record` waits."""
        return is_held(self._run / UNRECORDED_NAME, read_manifest(self._run)["main_pid"])

    def _main_pid(self) -> int:
        """Return the program's first process, which may be about to be started.

        Raises:
            UsageError: the program has ended.
        """
        while self.is_running():
            if (pid := read_manifest(self._run)["main_pid"]) is not None:
                return int(pid)
            time.sleep(LOOK_AGAIN_S)
        raise UsageError(f"the program that was recorded into {self._run} has ended; start it again")

    def traces(self) -> list[Path]:
        """Return the traces of the windows that are there and that a process has begun, the first one first."""
        return [window for window in (self._run / name for name in windows_in(self._run)) if is_begun(window)]

    def _number(self) -> int:
        return asked(self._run)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no other command ask meanwhile."""
        descriptor = os.open(self._requests, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def is_begun(window: Path) -> bool:
    """Tell whether a process has begun to record the window."""
    return bool(_headers(window))


def has_reached_limit(window: Path) -> bool:
    """Tell whether a process has recorded as many iterations as the window is to have."""
    return any(header.end_reason == EndReason.LIMIT for header in _headers(window).values())


def recording_processes(window: Path) -> list[int]:
    """Return the processes that still record a window."""
    headers = _headers(window).items()
    return [header.pid for path, header in headers if not header.stop_ticks and is_held(path, header.pid)]


def _headers(window: Path) -> dict[Path, FileHeader]:
    headers = {}
    for path in window.glob(f"*{PROCESS_FILE_SUFFIX}"):
        with suppress(RLScopeError):  # it is being written
            if (header := read_header(path)) is not None:
                headers[path] = header
    return headers
