"""This file joins the samples of a device with the work that ran, so that each operation has its share of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rlscope.analysis.counters.clock import counter_clock
from rlscope.analysis.counters.intervals import Intervals, Overlaps, Times, overlaps
from rlscope.analysis.counters.launched_work import Key, LaunchedWork
from rlscope.analysis.counters.shares import SharedSamples
from rlscope.model import NS_PER_S
from rlscope.trace.counter_metrics import ACTIVE_CYCLES, Combination, CounterMetric
from rlscope.trace.counters_file import CounterSamples

#: The operation of samples in which the device was active and no recorded work ran.
UNATTRIBUTED = "(unattributed)"

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RawMetric:
    """This is what adds up of a metric: amounts and, of a ratio, the weights by whose sum theirs is to be divided."""

    metric: CounterMetric
    amounts: Values
    weights: Values

    @classmethod
    def of(cls, metric: CounterMetric, samples: CounterSamples) -> "RawMetric":
        """Return one amount and weight per sample; those of a rate are by second."""
        values = samples.columns[metric.metric]
        if metric.weight is not None:
            weights = samples.columns[metric.weight]
            # A ratio of no cycles need not be a number.
            return cls(metric, np.where(weights > 0, values * weights, 0.0), weights)
        if metric.combination is Combination.RATE:
            values = values * ((samples.end_ns - samples.start_ns) / NS_PER_S)
        return cls(metric, values, np.zeros(len(values)))

    def summed(self, into: Callable[[Values], Values]) -> "RawMetric":
        """Return the same with other amounts and weights, made of these."""
        return RawMetric(self.metric, into(self.amounts), into(self.weights))


@dataclass(frozen=True)
class Sums:
    """This is what samples say of an operation, a stage, a process, or of work that nobody recorded.

    Attributes:
        key: process, stage, operation; "" from where all of them are meant.
        busy_s: the time in samples in which work of it ran.
        samples: with work of it, more than 0.
        values: per metric, the sums of amounts and of weights.
    """

    key: Key
    busy_s: float
    samples: int
    values: tuple[tuple[CounterMetric, float, float], ...]


class CounterJoin:
    """The samples of a device, and when recorded work ran in them.

    Attributes:
        worked: of each sample, whether recorded work ran in it.
    """

    def __init__(self, samples: CounterSamples, launched: LaunchedWork) -> None:
        """Find the clock of the device, of which there is at least one sample."""
        clock = counter_clock(samples, launched.kernels)
        self._launched = launched
        self._active = samples.columns[ACTIVE_CYCLES] != 0
        self._raw = [RawMetric.of(metric, samples) for metric in samples.metrics]
        self._start_ns, self._end_ns = clock.monotonic_ns(samples.start_ns), clock.monotonic_ns(samples.end_ns)
        inside = self._work_inside(launched.work)
        self._shared = SharedSamples(inside, len(self._start_ns), len(launched.keys))
        self.worked: npt.NDArray[np.bool_] = np.bincount(inside.sample, minlength=len(self._start_ns)) > 0

    def sums(self) -> Iterator[Sums]:
        """Yield the sums of each process, its stages, each followed by its operations; at last nobody's work."""
        by_key = [self._by_key(raw) for raw in self._raw]
        found: list[Sums] = []
        for level in (1, 2, 3):
            found += self._sums_of([(*key[:level], *[""] * (3 - level)) for key in self._launched.keys], by_key)
        order = {process: number for number, (process, _, _) in enumerate(self._launched.keys)}
        yield from sorted(found, key=lambda sums: (order[sums.key[0]], sums.key))
        yield from self._nobodys()

    def _work_inside(self, work: Intervals) -> Overlaps:
        """Return when each group worked in a sample: once, however many kernels it has there."""
        pieces, samples = overlaps(work.union(), self._start_ns, self._end_ns), len(self._start_ns)
        place, at = np.unique(pieces.group * samples + pieces.sample, return_inverse=True)
        length = np.bincount(at, pieces.length, minlength=len(place)).astype(np.int64)
        return Overlaps(place // samples, place % samples, length)

    def _by_key(self, raw: RawMetric) -> RawMetric:
        if raw.metric.combination is Combination.RATIO:
            return RawMetric(raw.metric, *self._shared.ratio(raw.amounts, raw.weights))
        return raw.summed(self._shared.amounts)

    def _sums_of(self, names: Sequence[tuple[str, ...]], by_key: Sequence[RawMetric]) -> Iterator[Sums]:
        """Yield the sums of all keys that have the same name, as one."""
        known = list(dict.fromkeys(names))
        place = {name: number for number, name in enumerate(known)}
        group = np.array([place[name] for name in names], dtype=np.int64)
        # What runs at once for two operations of a stage counts once in the stage.
        inside = self._work_inside(self._launched.work.of_groups(group))
        busy_s = _summed(inside.group, inside.length / NS_PER_S, len(known))
        samples = np.bincount(inside.group, minlength=len(known))
        sums = [raw.summed(lambda amounts: _summed(group, amounts, len(known))) for raw in by_key]
        for number, (process, stage, operation) in enumerate(known):
            if samples[number]:
                values = tuple((raw.metric, float(raw.amounts[number]), float(raw.weights[number])) for raw in sums)
                yield Sums((process, stage, operation), float(busy_s[number]), int(samples[number]), values)

    def _nobodys(self) -> Iterator[Sums]:
        place = np.flatnonzero(self._active & ~self.worked)
        values = tuple((raw.metric, *self._nobodys_of(raw, place)) for raw in self._raw)
        if len(place) or any(amount for _, amount, _ in values):
            busy_s = float((self._end_ns - self._start_ns)[place].sum()) / NS_PER_S
            yield Sums(("", "", UNATTRIBUTED), busy_s, len(place), values)

    def _nobodys_of(self, raw: RawMetric, active: Times) -> tuple[float, float]:
        """Return what idle samples count, as memory does, belongs to nobody too, but to no rate of work."""
        if raw.metric.combination is Combination.AMOUNT:
            return float(raw.amounts[~self.worked].sum()), 0.0
        return float(raw.amounts[active].sum()), float(raw.weights[active].sum())


def _summed(group: Times, amounts: Values, groups: int) -> Values:
    return np.bincount(group, amounts, minlength=groups).astype(float)
