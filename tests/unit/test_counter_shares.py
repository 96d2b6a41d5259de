"""Who has what of a sample that several operations share: exact values, and what holds of any samples."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlscope.analysis.counters.intervals import Overlaps
from rlscope.analysis.counters.shares import SharedSamples

OPERATIONS = 3
Samples = Sequence[Mapping[int, int]]


def shared(samples: Samples) -> SharedSamples:
    """Of each sample, how long work of which operation ran in it."""
    entries = [(group, sample, length) for sample, ran in enumerate(samples) for group, length in ran.items()]
    group, sample, length = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return SharedSamples(Overlaps(group, sample, length), len(samples), OPERATIONS)


def ratios(samples: Samples, values: Sequence[float], weights: Sequence[float]) -> list[float]:
    amounts, given_weights = shared(samples).ratio(np.multiply(values, weights), np.array(weights, dtype=float))
    return [amount / weight if weight else float("nan") for amount, weight in zip(amounts, given_weights, strict=True)]


def test_operations_that_are_alone_elsewhere_have_their_own_ratio() -> None:
    """10 % of 100 cycles per us, and 90 % of 20."""
    samples = [{0: 100}, {1: 100}, {0: 50, 1: 50}]
    of_both = (10 * 5000 + 90 * 1000) / 6000
    assert ratios(samples, [10, 90, of_both], [10_000, 2000, 6000])[:2] == pytest.approx([10, 90])


def test_an_operation_that_is_never_alone_has_what_the_others_leave() -> None:
    """Between the ratios of its samples: of 50 % in one and in the other, or of 50 % and 95 %."""
    samples = [{0: 100}, {0: 50, 1: 50}, {0: 50, 1: 50}]
    assert ratios(samples, [10, 50, 50], [100] * 3)[:2] == pytest.approx([(10 * 100 + 50 * 100) / 200, 50])
    # The first has 10 % in the sample of 50 %, so the second 90 %; it has no more than 95 % in that of 95 %.
    assert ratios(samples, [10, 50, 95], [100] * 3)[1] == pytest.approx((90 + 95) / 2)
    assert ratios([{0: 50, 1: 50}] * 2, [20, 60], [100] * 2)[:2] == pytest.approx([40, 40])


def test_a_ratio_is_not_beyond_its_samples_where_weights_are_not_known() -> None:
    """The last is never alone; that it has 36 cycles per us, as all work has in the mean, is far from true."""
    samples = [*[{0: 100}] * 8, {1: 100}, {1: 50, 2: 50}]
    of_first, of_second, of_last = ratios(samples, [*[100] * 8, 10, 50], [*[2000] * 8, 10_000, 10_000])
    assert of_first == pytest.approx(100) and 10 < of_second < 50 and of_last == pytest.approx(50)


def test_work_without_cycles_takes_no_part_in_a_ratio() -> None:
    """A copy, as opposed to an operation whose cycles are not known."""
    samples = [{0: 100}, {1: 100}, {2: 100}, {0: 30, 1: 30, 2: 40}]
    found = ratios(samples, [10, 90, 0, 50], [100, 100, 0, 60])
    assert found[:2] == pytest.approx([10, 90]) and np.isnan(found[2])


def test_what_a_sample_has_more_goes_to_whom_it_can_be_of() -> None:
    samples = [{0: 100}, {1: 100}, {0: 50, 1: 50}]
    # Of 60 % the second operation, 50 % in the mean with the first, can have no more than 90 %.
    assert ratios(samples, [10, 90, 60], [100, 100, 100])[:2] == pytest.approx([(10 * 100 + 30 * 50) / 150, 90])
    # Of 55 % each has a tenth more than alone, where that is not beyond its samples.
    samples += [{0: 100}, {1: 100}]
    assert ratios(samples, [8, 80, 55, 12, 100], [100] * 5)[:2] == pytest.approx([2550 / 250, 22_950 / 250])


def test_what_a_sample_has_and_no_operation_has_alone_is_of_all() -> None:
    samples = [{0: 100}, {1: 100}, {0: 50, 1: 50}]
    assert ratios(samples, [0, 0, 7], [100, 100, 100])[:2] == pytest.approx([7 / 3, 7 / 3])


RAN = st.dictionaries(st.integers(0, OPERATIONS - 1), st.integers(1, 100), max_size=OPERATIONS)
COUNTED = st.sampled_from([0, 1, 7, 1000])
#: To a tenth of a percent: ratios of numbers as small as there are have no meaning.
PERCENT = st.integers(0, 1000).map(lambda tenths: tenths / 10)
SAMPLES = st.lists(st.tuples(RAN, PERCENT, COUNTED), min_size=1, max_size=12)


@given(SAMPLES)
def test_all_amounts_are_given_out_and_no_ratio_is_beyond_those_of_its_samples(
    samples: list[tuple[dict[int, int], float, int]],
) -> None:
    ran, values, weights = (list(column) for column in zip(*samples, strict=True))
    amounts, given_weights = shared(ran).ratio(np.multiply(values, weights), np.array(weights, dtype=float))
    worked = [(value, weight) for length, value, weight in samples if length]
    assert amounts.sum() == pytest.approx(sum(value * weight for value, weight in worked))
    assert given_weights.sum() == pytest.approx(sum(weight for _, weight in worked))
    for operation in np.flatnonzero(given_weights).tolist():
        rests_on = [value for length, value, weight in samples if operation in length and weight]
        ratio = amounts[operation] / given_weights[operation]
        assert min(rests_on) - 1e-9 <= ratio <= max(rests_on) + 1e-9
