"""Iterations of a process for the page: how long each took, what those kept consist of, and what a usual one does."""

from dataclasses import dataclass, replace

import numpy as np

from rlscope.analysis.detail.swept import SweptDetail
from rlscope.page.container import Array

#: Lengths that a page has; of more iterations it has those of groups.
MOST_LENGTHS = 1 << 17
#: Parts of iterations that a page has.
MOST_ENTRIES = 1 << 17
#: So many of the slowest are known singly, at least.
SLOWEST = 512


@dataclass(frozen=True)
class Groups:
    """The lengths of iterations, in groups of equal size; the last one may be smaller. Times are in ticks.

    Attributes:
        size: So many iterations are a group; 1 if each is known.
        lengths: How long all of a group took together. Shape: (groups,).
        shortest: Its shortest; as many as there are groups, or none if each iteration is known.
        longest: Its longest, in the same shape.
        longest_at: Which one that is.
        known: Iterations that are known singly besides, in ascending order; none if all are. Shape: (known,).
        known_starts: When each of these began, from the start of the first iteration.
        known_lengths: How long each of these took.
    """

    size: int
    lengths: Array
    shortest: Array
    longest: Array
    longest_at: Array
    known: Array
    known_starts: Array
    known_lengths: Array


@dataclass(frozen=True)
class Iterations:
    """Iterations of the process that reported most of them, each up to the next. Times are in ticks of its clock.

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

    def with_fewer_entries(self, shrink: int) -> "Iterations":
        """Return them with the entries of the slowest and of every so many, as a page can hold.

        Args:
            shrink: It holds 131,072 entries, halved so many times.
        """
        entries = np.bincount(self.iteration, minlength=len(self.lengths))
        numbers = np.arange(len(self.lengths))
        slowness = np.argsort(np.argsort(self.lengths, kind="stable")[::-1], kind="stable")
        kept, step, slow = entries > 0, 1, SLOWEST
        while entries[kept].sum() > MOST_ENTRIES >> shrink and (step < len(numbers) or slow > 1):
            step, slow = step * 2, max(slow // 2, 1) if step > 1 else slow
            kept = (numbers % step == 0) | (slowness < slow)
        inside = kept[self.iteration]
        return replace(self, iteration=self.iteration[inside], function=self.function[inside], ticks=self.ticks[inside])

    def grouped(self, shrink: int) -> Groups:
        """Return how long they took: each of them, or of more than 131,072, halved `shrink` times, groups of them."""
        count = len(self.lengths)
        size = -(-count // (MOST_LENGTHS >> shrink))
        none = np.zeros(0, np.uint64)
        if size == 1:
            return Groups(1, self.lengths, none, none, none, none, none, none)
        firsts = np.arange(0, count, size)
        order = np.lexsort((-self.lengths.astype(np.float64), np.arange(count) // size))
        slowest = np.argsort(self.lengths, kind="stable")[::-1][:SLOWEST]
        known = np.union1d(np.unique(self.iteration), slowest)
        return Groups(
            size,
            np.add.reduceat(self.lengths, firsts),
            np.minimum.reduceat(self.lengths, firsts),
            np.maximum.reduceat(self.lengths, firsts),
            order[firsts].astype(np.uint64),
            known.astype(np.uint64),
            self.starts[known] - self.starts[0],
            self.lengths[known],
        )

    def usual(self, functions: int) -> Array:
        """Return the mean ticks per function of iterations between the quartiles of all lengths. Shape: (functions,).

        Of iterations that took 4, 10, 11, 12 and 90 ms, those of 10, 11 and 12 ms are usual. Where none lies between
        the quartiles, as of two, all are.
        """
        low, high = np.quantile(self.lengths, (0.25, 0.75))
        kept = np.unique(self.iteration)
        usual = kept[(self.lengths[kept] >= low) & (self.lengths[kept] <= high)]
        if len(usual) == 0:
            usual = kept
        inside = np.isin(self.iteration, usual)
        return np.bincount(self.function[inside], weights=self.ticks[inside], minlength=functions) / len(usual)

    def worth_seeing(self) -> list[tuple[int, str]]:
        """Return whose events a page holds, and why: the slowest three, one of the median length, the first."""
        order = np.argsort(self.lengths, kind="stable")
        wanted = [(int(number), "slow") for number in order[::-1][:3]]
        wanted += [(int(order[len(order) // 2]), "usual"), (0, "first")]
        return list({number: (number, why) for number, why in reversed(wanted)}.values())[::-1]
