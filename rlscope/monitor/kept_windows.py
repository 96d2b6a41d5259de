"""A flight recorder: a job is recorded in windows, one behind the other, and of these the last ones are kept."""

import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path

from rlscope.errors import RLScopeError
from rlscope.monitor.beside import beside
from rlscope.monitor.windows import Windows, is_begun
from rlscope.record.run.trace_files import remove_trace
from rlscope.trace.manifest import UNRECORDED_NAME, read_manifest, write_manifest

#: What is kept is so many windows: one is removed at a time.
PARTS = 8
LOOK_AGAIN_S = 0.1


class KeptWindows:
    """Begins windows and removes old ones until told to stop, or until that fails.

    Args:
        run: The directory of the run.
        seconds: So much is kept of each process; None for no limit.
        most_bytes: So much is kept of all processes together; None for no limit.

    Attributes:
        error: Why that ended early, None where it did not.
    """

    def __init__(self, run: Path, seconds: float | None, most_bytes: int | None) -> None:
        self._run = run
        self._windows = Windows(run)
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._begun_s = 0.0
        self._current: Path | None = None
        self._ending: list[Path] = []
        self._kept: list[tuple[float, Path]] = []  # when each ended, the first one first
        self._bytes = 0  # of all windows, at the last look
        self._grown = 0  # by so much at most between two looks
        self._stopping = threading.Event()
        self.error: str | None = None

    def run(self) -> None:
        """Go on until told to stop. Made for a thread."""
        try:
            while True:
                self._look()
                if self._stopping.wait(LOOK_AGAIN_S):
                    return
        except (OSError, RLScopeError) as error:
            self.error = str(error)

    def stop(self) -> None:
        """End this; the window that is open stays so."""
        self._stopping.set()

    def _look(self) -> None:
        now_s = time.monotonic()
        if self._current is None or self._is_full(self._current, now_s):
            if self._current is not None:
                self._ending.append(self._current)
            self._current, self._begun_s = self._windows.begin_next(), now_s
        for window in [window for window in self._ending if self._windows.is_left(window)]:
            self._ending.remove(window)
            self._windows.complete(window)
            self._kept.append((now_s, window))
        if self._most_bytes is not None:
            total = sum(map(bytes_of, self._windows.traces()))
            self._grown, self._bytes = max(self._grown, total - self._bytes), total
        while self._kept and self._is_too_much(now_s):
            self._overwrite(self._kept.pop(0)[1])

    def _is_full(self, window: Path, now_s: float) -> bool:
        if not is_begun(window):  # by a process that is inside one long call, or starts
            return False
        is_old = self._seconds is not None and now_s - self._begun_s >= self._seconds / PARTS
        return is_old or (self._most_bytes is not None and bytes_of(window) >= self._most_bytes / PARTS)

    def _is_too_much(self, now_s: float) -> bool:
        """Tell whether the first window has to go, also for what is written until the next look."""
        if self._seconds is not None and now_s - self._kept[0][0] > self._seconds:
            return True
        return self._most_bytes is not None and self._bytes + self._grown > self._most_bytes

    def _overwrite(self, window: Path) -> None:
        """Remove a window, and count it."""
        manifest = read_manifest(self._run)
        before = manifest.get("overwritten", {"windows": 0, "bytes": 0})
        removed = bytes_of(window)
        self._bytes -= removed
        counted = {"windows": before["windows"] + 1, "bytes": before["bytes"] + removed}
        write_manifest(self._run, {**manifest, "overwritten": counted})
        remove_trace(window)
        (window / UNRECORDED_NAME).unlink()
        window.rmdir()


def bytes_of(window: Path) -> int:
    """Return how many bytes the files of a window take."""
    return sum(path.stat().st_size for path in window.iterdir())


def kept(run: Path, seconds: float | None, most_bytes: int | None) -> AbstractContextManager[KeptWindows]:
    """Return what keeps the last windows of a run while it is entered."""
    return beside(KeptWindows(run, seconds, most_bytes))
