"""Iterations of a process for the page: how long each took, what those kept consist of, and what a usual one does."""

from dataclasses import dataclass

import numpy as np

from rlscope.analysis.detail.swept import SweptDetail
from rlscope.page.container import Array


@dataclass(frozen=True)
class Iterations:
    """Iterations of the process that reported most of them. Times are in ticks of its clock.

    Attributes:
        starts: When each began. Shape: (iterations,).
        lengths: How long each took. Shape: (iterations,).
        iteration: Of each entry, its iteration, in ascending order. Shape: (entries,).
        function: Of each entry, the row of `functions` in the sweep. Shape: (entries,).
        ticks: Of each entry, what the iteration spent there. Shape: (entries,).
    """

    starts: Array
    lengths: Array
    iteration: Array
    function: Array
    ticks: Array

    @classmethod
    def of(cls, detail: SweptDetail) -> "Iterations":
        """Take them from the detail of a sweep."""
        starts, ends = (np.frombuffer(times, "<u8") for times in (detail.iteration_starts, detail.iteration_ends))
        return cls(
            starts,
            ends - starts,
            np.frombuffer(detail.iterations, "<u4"),
            np.frombuffer(detail.iteration_functions, "<u4"),
            np.frombuffer(detail.iteration_ticks, "<u8"),
        )

    def usual(self, functions: int) -> Array:
        """Return the mean ticks per function of iterations between the quartiles of all lengths. Shape: (functions,).

        Of iterations that took 4, 10, 11, 12 and 90 ms, those of 10, 11 and 12 ms are usual.
        """
        low, high = np.quantile(self.lengths, (0.25, 0.75))
        kept = np.unique(self.iteration)
        usual = kept[(self.lengths[kept] >= low) & (self.lengths[kept] <= high)]
        if len(usual) == 0:
            return np.zeros(functions)
        inside = np.isin(self.iteration, usual)
        return np.bincount(self.function[inside], weights=self.ticks[inside], minlength=functions) / len(usual)

    def worth_seeing(self) -> list[tuple[int, str]]:
        """Return whose events a page holds, and why: the slowest three, one of the median length, the first."""
        order = np.argsort(self.lengths, kind="stable")
        wanted = [(int(number), "slow") for number in order[::-1][:3]]
        wanted += [(int(order[len(order) // 2]), "usual"), (0, "first")]
        return list({number: (number, why) for number, why in reversed(wanted)}.values())[::-1]
