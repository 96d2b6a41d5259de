"""Windows of a job that commands ask for: begun, ended and completed here, also where who asked is gone."""

import os
from collections.abc import Callable

from rlscope.errors import TraceFormatError
from rlscope.monitor.windows.request import Request, read_request
from rlscope.monitor.windows.run_windows import Windows, is_begun
from rlscope.monitor.windows.window_keeper import LOOK_AGAIN_S, LOOK_SOON_S, WindowKeeper
from rlscope.trace.manifest import note_unrecorded
from rlscope.trace.windows import ASKED_NAME


class AskedWindows(WindowKeeper):
    """Takes requests. One for a window is refused while another one is open, and tried again where there is no room."""

    def __init__(self, windows: Windows, say: Callable[[str], object]) -> None:
        super().__init__(windows, say)
        self._path = windows.run / ASKED_NAME
        self._taken = ""  # the last request
        self._asked_by = ""  # the last one that a window was begun for

    @property
    def _pause_s(self) -> float:
        return LOOK_SOON_S if self._made else LOOK_AGAIN_S

    def _look(self, now_s: float) -> None:
        with self._troubles.trying("has a request that cannot be followed"):
            self._take_request()
        self._end_if_over(now_s)
        self._complete_left()

    def _take_request(self) -> None:
        if not os.path.lexists(self._path):  # as ten times a second for days
            return
        try:
            request = read_request(self.windows.run)
        except TraceFormatError:
            self._path.unlink()
            raise
        if request is None:
            return
        if request.id != self._taken:  # else it could not be removed
            self._follow(request)
            self._taken = request.id
        if read_request(self.windows.run) == request:  # else its window is to end already
            self._path.unlink()

    def _follow(self, request: Request) -> None:
        window = self.windows.open_window
        if window is not None and request.ends in (window.name, self._asked_by):
            if not is_begun(window):
                reason = "it began to record nothing before the request was taken back"
                note_unrecorded(window, reason, self.windows.main_pid)
            self.windows.end()
        elif window is None and request.max_seconds is not None:
            self._made.append(self.windows.begin(request.max_iterations, request.max_seconds, request.id))
            self._longest_s, self._asked_by = request.max_seconds, request.id
