"""This file computes with many intervals of time at once: unions, and what of them lies in which sample."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Intervals:
    """Intervals of several groups; the k-th is `start[k]` to `end[k]`, which is later, of `group[k]`, from 0."""

    start: Times
    end: Times
    group: Times

    def of_groups(self, group: Times) -> "Intervals":
        """Return the same intervals; what was of group g is of `group[g]`."""
        return Intervals(self.start, self.end, group[self.group])

    def union(self) -> "Intervals":
        """Return each group's intervals, merged: none overlap or touch; they are in order of group and time."""
        if not len(self.start):
            return self
        # Groups side by side on one axis, with room between them, so that one pass makes all of their unions.
        origin = self.start.min()
        stride = self.end.max() - origin + 1
        order = np.argsort(self.group * stride + (self.start - origin), kind="stable")
        group = self.group[order]
        start = group * stride + (self.start[order] - origin)
        reach = np.maximum.accumulate(group * stride + (self.end[order] - origin))
        first = np.flatnonzero(np.concatenate([[True], start[1:] > reach[:-1]]))
        last = np.append(first[1:], len(start)) - 1
        shift = origin - group[first] * stride
        return Intervals(start[first] + shift, reach[last] + shift, group[first])


@dataclass(frozen=True)
class Overlaps:
    """This is what of intervals lies in samples: of an interval of `group`, `length` ns in the sample number
    `sample`.
    """

    group: Times
    sample: Times
    length: Times


def overlaps(intervals: Intervals, sample_start: Times, sample_end: Times) -> Overlaps:
    """Return one entry per interval and sample that it reaches into; samples are in order and do not overlap.

    0-10 and 15-30, in samples 0-20 and 20-40: 10 and 5 in the first one, 10 in the second.
    """
    first = np.searchsorted(sample_end, intervals.start, side="right")
    count = np.searchsorted(sample_start, intervals.end, side="left") - first
    interval = np.repeat(np.arange(len(first)), count)
    sample = np.arange(len(interval)) - np.repeat(np.cumsum(count) - count - first, count)
    length = np.minimum(intervals.end[interval], sample_end[sample]) - np.maximum(
        intervals.start[interval], sample_start[sample]
    )
    return Overlaps(intervals.group[interval], sample, length)
