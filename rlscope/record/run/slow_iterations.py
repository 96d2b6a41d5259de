"""This file notes in which windows of a run an iteration lies that took much longer than those before it."""

from __future__ import annotations

import time
from bisect import insort

from rlscope.trace.windows import SLOW_NAME, window_of

#: The median of fewer says little.
ENOUGH = 10
#: As many lengths are kept; of more every second one, in their order, so that the median stays.
MOST = 1000


class SlowIterations:
    """Compares each iteration of this process with the median of those before it.

    Args:
        run: The directory of the run.
        factor: So many times the median is slow.
    """

    def __init__(self, run: str, factor: float) -> None:
        self._run = run
        self._factor = factor
        self._lengths_ns: list[int] = []  # in order of length
        self._began_ns = 0
        self._began_in = 0

    def at_iteration(self, number: int, is_baseline: bool) -> None:
        """Note the iteration that ends, if one had begun and was slow; the next begins.

        Args:
            number: Of the request that is followed now.
            is_baseline: Whether none has ended now.
        """
        now_ns = time.monotonic_ns()
        length_ns, began_in, has_begun = now_ns - self._began_ns, self._began_in, self._began_ns > 0
        self._began_ns, self._began_in = now_ns, number
        if is_baseline or not has_begun:
            return
        lengths = self._lengths_ns
        if len(lengths) >= ENOUGH and length_ns > self._factor * lengths[len(lengths) // 2]:
            self._note(range(began_in, number + 1), length_ns / 1e9, lengths[len(lengths) // 2] / 1e9)
        insort(lengths, length_ns)
        if len(lengths) > MOST:
            del lengths[::2]

    def _note(self, numbers: range, seconds: float, median_s: float) -> None:
        windows = [window.rpartition("/")[2] for number in numbers if (window := window_of(self._run, number))]
        with open(f"{self._run}/{SLOW_NAME}", "a", encoding="utf-8") as file:
            file.writelines(f"{window} {seconds:.6f} {median_s:.6f}\n" for window in windows)
