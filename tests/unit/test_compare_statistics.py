"""The statistics of `rlscope compare`: intervals of iterations that are alike, and which of many rows differ."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from rlscope.compare.differences import by_chance, difference, differences
from rlscope.compare.estimate import Group, group_of, half_width
from rlscope.compare.iterations import MOST_ALIKE, Values, alike, iterations_of

PAIRS = 500
Series = Callable[[np.random.Generator, int], Values]


def autoregressive(correlation: float) -> Series:
    def series(generator: np.random.Generator, number: int) -> Values:
        steps = generator.normal(size=number) * (1 - correlation**2) ** 0.5
        values = np.empty(number)
        values[0] = generator.normal()
        for place in range(1, number):
            values[place] = correlation * values[place - 1] + steps[place]
        return 1 + 0.1 * values

    return series


def every_tenth_twice_as_long(generator: np.random.Generator, number: int) -> Values:
    values = 1 + 0.02 * generator.normal(size=number)
    values[generator.integers(10) :: 10] *= 2
    return values


def heavy_tail(generator: np.random.Generator, number: int) -> Values:
    return 0.5 + 0.1 * generator.pareto(2.5, size=number)


def moving_average(generator: np.random.Generator, number: int) -> Values:
    steps = generator.normal(size=number + 9)
    return 1 + 0.1 * np.convolve(steps, np.ones(10) / 10**0.5, "valid")


def two_regimes(generator: np.random.Generator, number: int) -> Values:
    """20 % apart, of 30 iterations each."""
    levels = np.repeat(generator.integers(0, 2, number // 30 + 2), 30) * 0.2
    start = int(generator.integers(30))
    return 1 + levels[start : start + number] + 0.02 * generator.normal(size=number)


#: What holds the truth in a stated share of pairs of equal series.
STEADY: dict[str, Series] = {
    "independent": autoregressive(0),
    "alike": autoregressive(0.5),
    "every tenth": every_tenth_twice_as_long,
    "heavy tail": heavy_tail,
    "moving average": moving_average,
}


def covered(series: Series, number: int, seed: int = 0) -> float:
    """Return in which share of pairs of equal series the interval of their ratio holds 1."""
    generator = np.random.default_rng(seed)
    found = 0
    for _ in range(PAIRS):
        groups = {side: iterations_of([series(generator, number)]) for side in "ab"}
        means = {side: group.mean for side, group in groups.items()}
        found += abs(means["b"] / means["a"] - 1) <= half_width(groups, lambda by: by["b"] / by["a"] - 1, means)
    return found / PAIRS


@pytest.mark.parametrize("number", [50, 200])
@pytest.mark.parametrize("name", STEADY)
def test_an_interval_of_iterations_holds_the_truth_as_often_as_it_says(name: str, number: int) -> None:
    assert covered(STEADY[name], number) >= 0.92


def test_where_iterations_drift_it_does_not() -> None:
    """Which is why every verdict that rests on iterations says so, and a gate asks for runs."""
    assert covered(two_regimes, 50) < 0.92


def test_neighbours_that_are_alike_count_less() -> None:
    """Of 200 iterations with a correlation of one half, about a third count."""
    values = autoregressive(0.5)(np.random.default_rng(1), 150)
    group = iterations_of([values])
    assert 30 < group.degrees + 1 < 75
    assert group.error == pytest.approx(values.std(ddof=1) / (group.degrees + 1) ** 0.5)


def test_a_trend_is_as_alike_as_can_be_and_equal_iterations_are_not_alike() -> None:
    assert alike([np.arange(100.0)]) == MOST_ALIKE
    assert alike([np.ones(5)]) == 0.0
    assert alike([np.array([1.0, -1.0] * 10)]) == 0.0


def test_the_end_of_one_run_and_the_start_of_the_next_are_no_neighbours() -> None:
    """Two runs at one level each: what jumps between them is not one of their pairs."""
    first, second = np.array([1.0, 1.0]), np.array([3.0, 3.0])
    raw = (1 - 1 + 1) / 4  # of the products of the deviations -1, -1, 1, 1
    assert alike([np.concatenate([first, second])]) == pytest.approx(raw + (1 + 3 * raw) / 4)
    assert alike([first, second]) == MOST_ALIKE  # without the product in the middle


def test_batches_see_what_neighbours_do_not() -> None:
    """A slow wave under much noise: neighbours say little of it, the means of five batches do."""
    generator = np.random.default_rng(3)
    values = 1 + 0.3 * generator.normal(size=1000) + 0.2 * np.sin(np.arange(1000) / 160)
    assert iterations_of([values]).degrees == 4
    assert iterations_of([generator.normal(1, 0.1, 199)]).degrees > 4


def test_a_difference_has_the_interval_of_welch() -> None:
    base, other = [10.0, 11.0, 12.0], [13.0, 15.0, 17.0, 15.0]
    found = difference(group_of(base), group_of(other), 0.95)
    expected = stats.ttest_ind(other, base, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert (found.base, found.other, found.value, found.is_sure) == (11, 15, 4, True)
    assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert by_chance(group_of(base), group_of(other)) == pytest.approx(expected.pvalue)


def test_each_row_is_judged_as_one_of_those_that_are_left() -> None:
    """Probabilities by chance of 0.004, 0.03 and 0.5: 0.03 alone would do, as one of two it does not."""
    degrees = 1e9
    errors = {"sure": 2.878, "not quite": 2.170, "equal": 0.674}
    pairs = {name: (Group(0, 0, 1, False), Group(value, 1.0, degrees, False)) for name, value in errors.items()}
    chances = [by_chance(*pair) for pair in pairs.values()]
    assert chances == [pytest.approx(0.004, abs=1e-4), pytest.approx(0.03, abs=1e-4), pytest.approx(0.5, abs=1e-3)]
    found = differences(pairs, 0.05)
    assert [name for name, each in found.items() if each.is_sure] == ["sure"]
    assert differences({"not quite": pairs["not quite"]}, 0.05)["not quite"].is_sure
    # The interval of a row that is not sure holds nothing, at the level at which the first of them was refused.
    assert found["not quite"].low < 0 < found["not quite"].high
    assert found["sure"].high - found["sure"].low == pytest.approx(2 * 2.394, abs=1e-3)  # 0.05 / 3


def test_of_many_equal_rows_one_seems_to_differ_in_few_comparisons() -> None:
    generator = np.random.default_rng(7)
    alarms = 0
    for _ in range(PAIRS):
        pairs = {
            row: (group_of(generator.normal(1, 0.02, 5).tolist()), group_of(generator.normal(1, 0.02, 5).tolist()))
            for row in range(8)
        }
        alarms += any(each.is_sure for each in differences(pairs, 0.05).values())
    assert alarms <= 0.08 * PAIRS


@pytest.mark.parametrize(("other", "is_sure"), [(1.0, False), (1.5, True)])
def test_rows_that_do_not_scatter_differ_or_do_not(other: float, is_sure: bool) -> None:
    found = differences({"row": (group_of([1.0] * 3), group_of([other] * 3))}, 0.05)["row"]
    assert (found.is_sure, found.low, found.high) == (is_sure, other - 1, other - 1)
