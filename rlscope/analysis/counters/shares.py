"""This file divides samples among operations, where work of several ran in one."""

import numpy as np
import numpy.typing as npt

from rlscope.analysis.counters.intervals import Overlaps

Values = npt.NDArray[np.float64]


class SharedSamples:
    """This is who had work in which samples.

    An amount in a sample belongs to the operations that launched work which ran in it, in proportion to how long that
    ran and to how much the operation counts in a while where it is alone: of 90 in a sample with 10 us of work of
    inference and 20 us of backpropagation 30 and 60, if neither is ever alone or both count alike.
    """

    def __init__(self, inside: Overlaps, samples: int, operations: int) -> None:
        """Note who worked in which of the numbered samples.

        Args:
            inside: how long work of an operation, its group, ran in a sample; each pair at most once.
            samples: how many there are.
            operations: how many there are.
        """
        self._operation, self._sample = inside.group, inside.sample
        self._length = inside.length.astype(float)
        self._samples, self._operations = samples, operations
        in_sample = np.bincount(inside.sample, minlength=samples)
        self._is_alone = in_sample[inside.sample] == 1
        self._alone_ns = self._counted_alone(self._by_sample(self._length))

    def amounts(self, of_samples: Values) -> Values:
        """Return each operation's part of amounts that were counted in samples."""
        return self._by_operation(self._given(of_samples))

    def ratio(self, amounts: Values, weights: Values) -> tuple[Values, Values]:
        """Return each operation's part of the amounts and of the weights of a ratio in samples.

        All is given out. The ratio of an operation lies between the least and the largest in samples with its work.
        """
        given = self._given(weights)
        return self._by_operation(given * self._ratios(amounts, weights, given)), self._by_operation(given)

    def _given(self, of_samples: Values) -> Values:
        """Return what each operation gets in each sample. One that is never alone counts by time, as all work does."""
        mean = of_samples[np.unique(self._sample)].sum() / max(self._length.sum(), 1.0)
        rates = np.where(self._alone_ns > 0, self._counted_alone(of_samples) / np.maximum(self._alone_ns, 1.0), mean)
        parts = self._length * rates[self._operation]
        # Where all that ran counts nothing, and still something was counted.
        parts = np.where(self._in_sample(parts) == 0, self._length, parts)
        return parts / self._in_sample(parts) * of_samples[self._sample]

    def _ratios(self, amounts: Values, weights: Values, given: Values) -> Values:
        """Return what is likely of each operation in each sample, moved so that the sample has its amount."""
        least, largest = self._range(_quotients(amounts, weights), weights)
        likely = np.clip(self._likely(amounts, weights, given), least, largest)
        missing = amounts[self._sample] - self._in_sample(given * likely)
        border = np.where(missing > 0, largest, least)
        room = self._in_sample(given * np.abs(border - likely))
        ratios: Values = likely + np.minimum(_quotients(np.abs(missing), room), 1.0) * (border - likely)
        return ratios

    def _likely(self, amounts: Values, weights: Values, given: Values) -> Values:
        """Return what the operation has alone, as much larger or smaller as all have it; of one never alone,
        what is left.
        """
        alone_weights = self._counted_alone(weights)
        alone = _quotients(self._counted_alone(amounts), alone_weights)[self._operation]
        is_known = alone_weights[self._operation] > 0
        explained = self._in_sample(given * alone)
        left_weights = self._in_sample(np.where(is_known, 0.0, given))
        scale = np.where(left_weights > 0, 1.0, _quotients(amounts[self._sample], explained))
        left = _quotients(amounts[self._sample] - explained, left_weights)
        return np.where(is_known, alone * scale, left)

    def _range(self, of_samples: Values, weights: Values) -> tuple[Values, Values]:
        """Return the least and the largest ratio in samples with work of the operation, of each that is in a sample."""
        is_known = weights[self._sample] > 0
        operation, ratio = self._operation[is_known], of_samples[self._sample[is_known]]
        least, largest = np.full(self._operations, np.inf), np.full(self._operations, -np.inf)
        np.minimum.at(least, operation, ratio)
        np.maximum.at(largest, operation, ratio)
        is_never = least > largest
        least[is_never] = largest[is_never] = 0.0
        return least[self._operation], largest[self._operation]

    def _counted_alone(self, of_samples: Values) -> Values:
        return self._by_operation(np.where(self._is_alone, of_samples[self._sample], 0.0))

    def _by_operation(self, parts: Values) -> Values:
        return np.bincount(self._operation, parts, minlength=self._operations).astype(float)

    def _by_sample(self, parts: Values) -> Values:
        return np.bincount(self._sample, parts, minlength=self._samples).astype(float)

    def _in_sample(self, parts: Values) -> Values:
        """Return the sum over all operations that are in the same sample."""
        return self._by_sample(parts)[self._sample]


def _quotients(of: Values, by: Values) -> Values:
    """Return quotients that are 0 where something is divided by nothing."""
    return np.divide(of, by, out=np.zeros(len(of)), where=by > 0)
