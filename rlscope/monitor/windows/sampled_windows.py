"""A sample of a run: one iteration of each so many is recorded, in a window that a process asks for at its own time."""

import os
import time
from collections.abc import Callable
from typing import TypedDict

from rlscope.errors import RLScopeError, reason_of
from rlscope.monitor.windows.run_windows import Windows, is_begun
from rlscope.monitor.windows.troubles import cause_of
from rlscope.monitor.windows.window_keeper import LONGEST_S, WindowKeeper
from rlscope.record.run.trace_directory import note_in_manifest

#: An iteration that takes so many times the mean is not awaited: who asked for its window may have been killed.
TIMES_MEAN = 20
LEAST_S = 60.0
#: How many iterations there were is noted as often at least.
NOTED_AFTER_S = 10.0
#: As many parts of a run that are not in the sample are told apart.
MOST_GAPS = 100


class Gap(TypedDict):
    """Iterations of which none could be recorded: the first and the last one, and why."""

    first: int
    last: int
    why: str


class SampledWindows(WindowKeeper):
    """Makes each next window ready, and completes those that are over.

    A process that finds none ready goes on unrecorded: there are at most ten windows in a second.
    """

    def __init__(self, windows: Windows, say: Callable[[str], object]) -> None:
        super().__init__(windows, say)
        self._since_s = time.monotonic()
        self._noted_s = 0.0
        self._gaps: list[Gap] = []
        self._is_in_gap = False
        self._failed = 0  # the last window that a process could not record

    def _look(self, now_s: float) -> None:
        if iterations := self.windows.page.iterations:
            self._longest_s = max(TIMES_MEAN * (now_s - self._since_s) / iterations, LEAST_S)
        self._end_if_over(now_s)
        number, error = self.windows.page.failure
        if number != self._failed:
            self._failed = number
            self._note_gap(os.strerror(error))
        left = self._complete_left()
        if any(window != self.windows.window(self._failed) and is_begun(window) for window in left):
            self._is_in_gap = False
        with self._troubles.trying("has no next window"):
            try:
                if (window := self.windows.make_ready(LONGEST_S)) is not None:
                    self._made.append(window)
            except (OSError, RLScopeError) as refused:
                self._note_gap(reason_of(cause_of(refused)))
                raise
        if left or now_s - self._noted_s >= NOTED_AFTER_S:
            self._note(now_s)

    def _note_gap(self, why: str) -> None:
        """Note that the next iteration whose turn it is cannot be recorded, and why."""
        iterations = self.windows.page.iterations
        if self._gaps and ((self._is_in_gap and self._gaps[-1]["why"] == why) or len(self._gaps) == MOST_GAPS):
            self._gaps[-1]["last"] = iterations
        else:
            self._gaps.append({"first": iterations + 1, "last": iterations + 1, "why": why})
        self._is_in_gap = True

    def _note(self, now_s: float) -> None:
        """Note how many iterations the program has made, most of which are in no window, and which could not be."""
        self._noted_s = now_s
        with self._troubles.trying("does not say how many iterations there were"):
            note_in_manifest(self.windows.run, iterations=self.windows.page.iterations, not_sampled=self._gaps)

    def end_all(self, exit_status: int, patience_s: float) -> None:
        """End what is open and complete what is not, once the program has ended."""
        super().end_all(exit_status, patience_s)
        if self._is_in_gap:
            self._gaps[-1]["last"] = max(self.windows.page.iterations, self._gaps[-1]["first"])
        self._note(time.monotonic())
        self._troubles.settle()
