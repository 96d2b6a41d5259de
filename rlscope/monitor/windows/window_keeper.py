"""A keeper looks after the windows of a run, beside it, until it is told to stop.

What it cannot do at one look it tries again at the next one. What it knows of a window it reads anew each time: a user,
or a full disk, may have changed that.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from rlscope.monitor.beside import beside
from rlscope.monitor.windows.run_windows import Windows, is_begun, recording_processes
from rlscope.monitor.windows.troubles import Troubles
from rlscope.trace.manifest import read_manifest, read_unrecorded

LOOK_AGAIN_S = 0.1
#: Where somebody waits.
LOOK_SOON_S = 0.02
#: A window that somebody has asked for ends after so many seconds, if it was to have a number of iterations.
LONGEST_S = 3600.0
#: Processes end a window themselves when it is long enough; this is for one that none of them records any more.
GRACE_S = 1.0


class WindowKeeper(ABC):
    """Looks after windows again and again.

    Args:
        windows: Those of the run.
        say: Tells the user one line.

    Attributes:
        windows: Those of the run.
        error: What ended this that nobody expected; None where nothing did.
    """

    def __init__(self, windows: Windows, say: Callable[[str], object]) -> None:
        self.error: str | None = None
        self.windows = windows
        self._troubles = Troubles(windows.run, say)
        self._stopping = threading.Event()
        self._made: list[Path] = []  # windows that are not complete, the first one first
        self._longest_s = LONGEST_S  # so long the window that is open is to be
        self._begun: tuple[Path, float] | None = None  # the window that is open, and since when it is recorded

    def beside(self, main_pid: int) -> "AbstractContextManager[WindowKeeper]":
        """Return what runs this in a thread while it is entered, beside the process that the run began with."""
        self.windows.main_pid = main_pid
        return beside(self)

    def run(self) -> None:
        """Go on until told to stop. Made for a thread."""
        while True:
            self._look_once()
            if self._stopping.wait(self._pause_s):
                return

    def stop(self) -> None:
        """End this; the window that is open stays so."""
        self._stopping.set()

    def _look_once(self) -> None:
        with self._troubles.trying("is not looked after"):
            self.windows.look_after_requests()
            self._look(time.monotonic())
        self._troubles.settle()

    @property
    def _pause_s(self) -> float:
        """Return when to look again."""
        return LOOK_AGAIN_S

    @abstractmethod
    def _look(self, now_s: float) -> None:
        """Do what is to be done now."""

    def _complete_left(self) -> list[Path]:
        """Complete the windows that no process records any more, each by itself; return which these are."""
        left = []
        in_use = (self.windows.open_window, self.windows.ready_window)
        for window in [window for window in self._made if window not in in_use]:
            with self._troubles.trying("cannot be completed", window):
                if not window.is_dir():
                    self._made.remove(window)
                elif self.windows.is_left(window):
                    left.append(window)
                    self._finish(window, None)
                    self._made.remove(window)
        return left

    def _finish(self, window: Path, exit_status: int | None) -> None:
        """Complete a window; one that no process began, or complained about, was for nothing."""
        if is_begun(window) or read_unrecorded(window):
            self.windows.complete(window, exit_status)
        else:
            self.windows.remove(window)

    def _end_if_over(self, now_s: float) -> None:
        """End the open window when it is gone, or longer than it is to be."""
        window = self.windows.open_window
        if window is None:
            self._begun = None
        elif not window.is_dir():
            self.windows.end()
        elif self._begun is None or self._begun[0] != window:
            self._begun = (window, now_s) if is_begun(window) else None
        elif now_s - self._begun[1] >= self._longest_s + GRACE_S:
            self.windows.end()

    def end_all(self, exit_status: int, patience_s: float) -> None:
        """End what is open and complete what is not, once the program has ended and nobody else runs this.

        Args:
            exit_status: Of the program.
            patience_s: So long processes that outlive it are waited for.
        """
        self.windows.end()
        deadline_s = time.monotonic() + patience_s
        while any(map(recording_processes, self._made)) and time.monotonic() < deadline_s:
            time.sleep(LOOK_SOON_S)
        for window in self._made:
            with self._troubles.trying("cannot be completed", window):
                if window.is_dir() and not read_manifest(window).get("complete"):
                    self._finish(window, exit_status)
        self._troubles.settle()
