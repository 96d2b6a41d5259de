"""A flight recorder: a job is recorded in windows, one behind the other, and of these the last ones are kept."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rlscope.errors import RLScopeError
from rlscope.monitor.windows.run_windows import Windows, is_begun
from rlscope.monitor.windows.troubles import cause_of
from rlscope.monitor.windows.window_keeper import WindowKeeper
from rlscope.record.config import CONFIG_NAME
from rlscope.record.run.trace_directory import note_in_manifest
from rlscope.record.run.trace_files import bytes_of
from rlscope.trace.manifest import OUT_OF_ROOM
from rlscope.trace.windows import SLOW_NAME

#: What is kept is so many windows: one is removed at a time. Of those with slow iterations so many stay besides.
PARTS = 8
#: A window for which there is no room is given up for the next one after so many seconds, one that is not recorded for
#: another reason after so many.
AGAIN_S = 0.5
GIVEN_UP_S = 10.0


class KeptWindows(WindowKeeper):
    """Begins windows and removes old ones.

    Args:
        windows: Those of the run.
        say: Tells the user one line.
        seconds: So much is kept of each process; None for no limit.
        most_bytes: So much is kept of all processes together; None for no limit.
    """

    def __init__(
        self, windows: Windows, say: Callable[[str], object], seconds: float | None, most_bytes: int | None
    ) -> None:
        super().__init__(windows, say)
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._begun_s = 0.0
        self._left_s: dict[Path, float] = {}  # since when no process records a window, the first one first
        self._sizes: dict[Path, tuple[int, int]] = {}  # of these, and when they had last changed
        self._slow: list[str] = []  # these stay besides
        self._bytes = 0  # of all windows, at the last look
        self._grown = 0  # by so much at most between two looks
        self._was_full = False  # the disk
        self._largest = 0  # so many bytes a window takes, as far as was seen since the disk was full
        self._overwritten = {"windows": 0, "bytes": 0}
        self._noted = dict(self._overwritten)

    def _look(self, now_s: float) -> None:
        for window in self._complete_left():
            self._left_s.setdefault(window, now_s)
        with self._troubles.trying(f"has a {SLOW_NAME} that cannot be read"):
            self._slow = slow_windows(self.windows.run)
        self._remove_old(now_s)
        with self._troubles.trying("is on a disk of unknown room"):
            self._leave_room()
        if self._is_over(now_s):
            with self._troubles.trying("has no next window"):
                self._begin_next(now_s)
        if self._overwritten != self._noted:
            with self._troubles.trying("does not say how much was overwritten"):
                note_in_manifest(self.windows.run, overwritten=self._overwritten)
                self._noted = dict(self._overwritten)

    def _is_over(self, now_s: float) -> bool:
        """Tell whether the next window is to begin: nothing is recorded, or the open one is full, gone or given up."""
        window, age_s = self.windows.open_window, now_s - self._begun_s
        if window is None or not os.path.exists(window / CONFIG_NAME):
            return True
        number, error = self.windows.page.failure
        if number == self.windows.page.asked:
            self._troubles.note("is not recorded by all", OSError(error, os.strerror(error)), window)
            if error in OUT_OF_ROOM:
                self._was_full = True
                return age_s >= AGAIN_S and (self._make_room() or age_s >= 2 * AGAIN_S)
            if age_s >= GIVEN_UP_S:
                return True
        elif not is_begun(window):  # by a process that is inside one long call, or starts
            return False
        if self._seconds is not None and age_s >= self._seconds / PARTS:
            return True
        return self._most_bytes is not None and bytes_of(window) >= self._most_bytes / PARTS

    def _begin_next(self, now_s: float) -> None:
        """Begin the next window; where there is no room for it, in the place of the oldest one."""
        try:
            window = self.windows.begin()
        except (OSError, RLScopeError) as error:
            cause = cause_of(error)
            if not isinstance(cause, OSError) or cause.errno not in OUT_OF_ROOM or not self._make_room():
                raise
            self._was_full = True
            self._troubles.note("keeps less than it is to", error)
            window = self.windows.begin()
        self._made.append(window)
        self._begun_s = now_s

    def _remove_old(self, now_s: float) -> None:
        """Remove the windows that are too old, or too much; the last ones with slow iterations stay besides."""
        sizes = {window: self._size(window) for window in [*self._left_s, *self._made]} if self._most_bytes else {}
        total = sum(sizes.values())
        self._grown, self._bytes = max(self._grown, total - self._bytes), total
        slow, recorded_s = [], self._recorded_until(now_s)
        for window, left_s in list(self._left_s.items()):
            is_old = self._seconds is not None and recorded_s - left_s > self._seconds
            # With what is written until the next look.
            if not is_old and (self._most_bytes is None or total + self._grown <= self._most_bytes):
                break
            if window.name in self._slow:
                slow.append(window)
            elif not self._remove(window):
                continue
            total -= sizes.get(window, 0)
        for window in slow[:-PARTS]:
            self._remove(window)

    def _recorded_until(self, now_s: float) -> float:
        """Return until when processes recorded: while none does, as when Python tears a program down, none gets old."""
        window = self.windows.open_window
        if any(made != window for made in self._made) or (window is not None and is_begun(window)):
            return now_s
        return max(self._left_s.values(), default=now_s)

    def _size(self, window: Path) -> int:
        """Return the bytes of a window. Files of one that nobody records do not grow, but others may come and go."""
        if window not in self._left_s:
            return bytes_of(window)
        with suppress(OSError):
            changed_ns = window.stat().st_mtime_ns
            if self._sizes.get(window, (0, 0))[0] != changed_ns:
                self._sizes[window] = changed_ns, bytes_of(window)
            return self._sizes[window][1]
        return 0

    def _leave_room(self) -> None:
        """Once the disk was full, let as much be free as a window takes, so that none of those to come is cut off."""
        if not self._was_full:
            return
        self._largest = max([self._largest, *map(bytes_of, self._made)])
        if room_of(self.windows.run) < self._largest and self._make_room():
            self._troubles.note("keeps less than it is to", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    def _make_room(self) -> bool:
        """Remove the oldest window that can be removed, one with a slow iteration last; tell whether there was one."""
        return any(map(self._remove, sorted(self._left_s, key=lambda window: window.name in self._slow)))

    def _remove(self, window: Path) -> bool:
        """Remove a window, and count it; tell whether that could be done."""
        with self._troubles.trying("cannot be removed", window):
            if window.is_dir():
                removed = self.windows.remove(window)
                self._overwritten["windows"] += removed > 0
                self._overwritten["bytes"] += removed
                self._bytes -= removed
            del self._left_s[window]
            self._sizes.pop(window, None)
            return True
        return False


def room_of(run: Path) -> int:
    """Return how many bytes more can be written into a directory."""
    disk = os.statvfs(run)
    return disk.f_bavail * disk.f_frsize


def slow_windows(run: Path) -> list[str]:
    """Return the names of the windows in which a slow iteration was, the first one first."""
    file = run / SLOW_NAME
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
    return list(dict.fromkeys(line.partition(" ")[0] for line in lines))
