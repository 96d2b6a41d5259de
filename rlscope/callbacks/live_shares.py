"""This file reads the shares of this process from its trace while that is recorded, for each line of a log."""

import sys
import time

from rlscope import _native
from rlscope._analysis import sweep
from rlscope.analysis.live.window import BEHIND_NS
from rlscope.analysis.tables.shares import Shares
from rlscope.errors import RLScopeError
from rlscope.record import recorder

#: After a look, so many times the CPU time that it took passes before the next one: looking takes 1 % at most.
PAUSE = 100
#: What a look is called in the trace. The window that it reads ends where it begins.
LOOK = "log_shares"


class LiveShares:
    """The shares of this process since the line of a log before this one.

    Where a device is recorded, both ends of that time lie 1.5 s back, for what a device did is written once a second.
    """

    def __init__(self) -> None:
        """Begin with the first line."""
        self._shares = Shares()
        self._since_ticks = _native.ticks() if _native.is_recording() else 0
        self._first = (_native.ticks(), time.monotonic_ns())
        self._next_look_ns = 0
        self._is_over = False

    def next_line(self) -> None:
        """Begin with the next line: what was looked at is in one before."""
        self._shares.clear()

    def look(self) -> dict[str, float]:
        """Return the percentages of this line by name, with the time since the last look.

        They are empty if it was looked just now, or if nothing is recorded. If that will stay so, a line on stderr says
        it once. The training goes on in any case.
        """
        if not _native.is_recording():
            if recorder.active is None or recorder.active.is_over:
                has_ended = recorder.active is not None or self._since_ticks
                self._give_up("the recording of this process has ended" if has_ended else "this process is not "
                              "recorded; start it with `rlscope record -- python ...`")  # fmt: skip
            return {}
        if self._is_over or time.monotonic_ns() < self._next_look_ns:
            return {}
        end_ticks = self._end_ticks()  # of what the operation's begin makes known, as whether this thread had a core
        with _native.operation(LOOK):
            began_ns = time.thread_time_ns()
            try:
                self._add(end_ticks)
            except (OSError, RLScopeError) as error:
                self._give_up(f"the trace cannot be read: {error}")
                return {}
            self._next_look_ns = time.monotonic_ns() + PAUSE * (time.thread_time_ns() - began_ns)
        return self._shares.percent()

    def _add(self, end_ticks: int) -> None:
        if end_ticks > self._since_ticks:
            path, since = _native.trace_path(), self._since_ticks
            self._shares.add_sweep(sweep(path, limit_ticks=end_ticks, recover=True, since_ticks=since))
            self._since_ticks = end_ticks

    def _end_ticks(self) -> int:
        """Return up to where all is known."""
        ticks = _native.ticks()
        if _native.cuda_status()["state"] != "recording":
            return ticks
        first_ticks, first_ns = self._first
        return ticks - (ticks - first_ticks) * BEHIND_NS // max(time.monotonic_ns() - first_ns, 1)

    def _give_up(self, why: str) -> None:
        if not self._is_over:
            self._is_over = True
            print(f"rlscope: from now on no shares are logged: {why}. The training goes on.", file=sys.stderr)
