"""A sample of a run: one iteration of each so many is recorded, in a window that a process asks for at its own time."""

from pathlib import Path

from rlscope.monitor.window_keeper import WindowKeeper
from rlscope.monitor.windows import is_begun


class SampledWindows(WindowKeeper):
    """Makes each next window ready, and completes those that are over.

    A process that finds none ready goes on unrecorded: there are at most ten windows in a second.
    """

    def __init__(self, run: Path) -> None:
        super().__init__(run)
        self._made: list[Path] = []

    def _look(self) -> None:
        if (window := self._windows.make_ready()) is not None:
            self._made.append(window)
        current = self._windows.open_window
        for window in [each for each in self._made if each != current and is_begun(each)]:
            if self._windows.is_left(window):
                self._made.remove(window)
                self._windows.complete(window)
