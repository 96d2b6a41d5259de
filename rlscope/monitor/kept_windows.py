"""A flight recorder: a job is recorded in windows, one behind the other, and of these the last ones are kept."""

import time
from pathlib import Path

from rlscope.monitor.window_keeper import WindowKeeper
from rlscope.monitor.windows import is_begun
from rlscope.trace.manifest import read_manifest, write_manifest
from rlscope.trace.windows import SLOW_NAME

#: What is kept is so many windows: one is removed at a time. Of those with slow iterations so many stay besides.
PARTS = 8


class KeptWindows(WindowKeeper):
    """Begins windows and removes old ones.

    Args:
        run: The directory of the run.
        seconds: So much is kept of each process; None for no limit.
        most_bytes: So much is kept of all processes together; None for no limit.
    """

    def __init__(self, run: Path, seconds: float | None, most_bytes: int | None) -> None:
        super().__init__(run)
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._begun_s = 0.0
        self._current: Path | None = None
        self._ending: list[Path] = []
        self._kept: list[tuple[float, Path]] = []  # when each ended, the first one first
        self._slow: list[Path] = []  # these stay besides, the first one first
        self._bytes = 0  # of all windows, at the last look
        self._grown = 0  # by so much at most between two looks

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
            total = sum(bytes_of(window) for window in self._windows.traces() if window not in self._slow)
            self._grown, self._bytes = max(self._grown, total - self._bytes), total
        while self._kept and self._is_too_much(now_s):
            self._let_go(self._kept.pop(0)[1])

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

    def _let_go(self, window: Path) -> None:
        """Remove a window, or have it stay because it is a slow iteration's: then the first such one goes at last."""
        self._bytes -= bytes_of(window)
        if window.name not in slow_windows(self._run):
            self._overwrite(window)
            return
        self._slow.append(window)
        if len(self._slow) > PARTS:
            self._overwrite(self._slow.pop(0))

    def _overwrite(self, window: Path) -> None:
        """Remove a window, and count it."""
        manifest = read_manifest(self._run)
        before = manifest.get("overwritten", {"windows": 0, "bytes": 0})
        removed = bytes_of(window)
        counted = {"windows": before["windows"] + 1, "bytes": before["bytes"] + removed}
        write_manifest(self._run, {**manifest, "overwritten": counted})
        self._windows.remove(window)


def bytes_of(window: Path) -> int:
    """Return how many bytes the files of a window take."""
    return sum(path.stat().st_size for path in window.iterdir())


def slow_windows(run: Path) -> list[str]:
    """Return the names of the windows in which a slow iteration was, the first one first."""
    file = run / SLOW_NAME
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return list(dict.fromkeys(line.partition(" ")[0] for line in lines))
