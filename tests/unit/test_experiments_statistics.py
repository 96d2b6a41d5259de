"""Values over repetitions with their intervals."""

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from experiments.verdicts.statistics import ITERATIONS, RUNS, Estimate, estimated, estimated_mean, exact

TRIALS = 400
#: How repetitions scatter around their mean, by a tenth of it: evenly, and with a tail of long ones.
SCATTER: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda generator, number: generator.normal(1, 0.1, number),
    "skewed": lambda generator, number: generator.lognormal(-(0.25**2) / 2, 0.25, number),
}


def smallest_ratio(means: Mapping[str, float]) -> float:
    return min(means[f"{algorithm} time"] / means["other time"] for algorithm in ("A2C", "PPO", "SAC"))


#: Metrics of several groups' means, with the true means.
METRICS: dict[str, tuple[Callable[[Mapping[str, float]], float], Mapping[str, float]]] = {
    "mean": (lambda means: means["time"], {"time": 5.0}),
    "difference": (lambda means: means["on"] - means["off"], {"on": 60.0, "off": 40.0}),
    "ratio": (lambda means: means["eager"] / means["compiled"], {"eager": 3.0, "compiled": 1.0}),
    "smallest of three ratios": (
        smallest_ratio,
        {"A2C time": 2.0, "PPO time": 2.0, "SAC time": 2.0, "other time": 1.0},
    ),
    "geometric mean of three": (
        lambda means: math.prod(means.values()) ** (1 / 3),
        {"1": 1.0, "10": 4.0, "1000": 50.0},
    ),
}


@pytest.mark.parametrize("number", [3, 5, 10])
@pytest.mark.parametrize("scatter", SCATTER)
@pytest.mark.parametrize("metric", METRICS)
def test_an_interval_holds_the_truth_as_often_as_it_says(metric: str, scatter: str, number: int) -> None:
    value_of, means = METRICS[metric]
    truth, generator = value_of(means), np.random.default_rng(number)
    covered = 0
    for _ in range(TRIALS):
        groups = {name: list(mean * SCATTER[scatter](generator, number)) for name, mean in means.items()}
        found = estimated(groups, value_of)
        assert found.low is not None and found.high is not None
        covered += found.low <= truth <= found.high
    assert covered >= 0.92 * TRIALS


def test_the_interval_of_a_mean_is_students() -> None:
    found = estimated_mean([99.0, 100.0, 101.0])
    # 4.303 standard errors of 1 / sqrt(3); the upper end as far by a factor, which is 1.3 % farther here.
    assert (found.value, found.low, found.high) == (
        100,
        pytest.approx(100 - 4.303 / 3**0.5, abs=0.05),
        pytest.approx(100 + 4.303 / 3**0.5, abs=0.05),
    )


def test_a_workload_that_could_be_the_smallest_makes_the_interval_wider() -> None:
    smallest = [10.0, 10.1, 9.9]

    def width(other: float) -> float:
        found = estimated({"a": smallest, "b": [other, other + 0.2, other - 0.2]}, lambda means: min(means.values()))
        assert found.low is not None and found.high is not None
        return found.high - found.low

    assert width(10.1) > 1.2 * width(20.0)


def test_the_value_is_the_metric_of_the_means() -> None:
    found = estimated({"a": [1.0, 3.0, 2.0], "b": [1.0, 1.0, 1.0, 1.0]}, lambda means: means["a"] / means["b"])
    assert found.value == 2.0
    assert (found.repetitions, found.unit, found.counted) == (3, RUNS, "n=3 runs")


@pytest.mark.parametrize("values", [[4.0], [4.0, 5.0]])
def test_fewer_than_three_repetitions_have_no_interval(values: list[float]) -> None:
    found = estimated({"few": values, "many": [1.0, 2.0, 3.0]}, lambda means: means["few"] / means["many"])
    assert (found.low, found.high, found.repetitions) == (None, None, len(values))
    shown = found.columns("ratio")
    assert shown["ratio"] == found.value
    assert math.isnan(shown["ratio_low"]) and math.isnan(shown["ratio_high"])


def test_a_workload_that_cannot_matter_needs_no_repetitions() -> None:
    def best(slow: float) -> Estimate:
        return estimated({"fast": [10.0, 10.1, 9.9], "slow": [slow]}, lambda means: max(means.values()))

    assert best(2.0).counted == "n=3 runs"
    assert best(2.0).low is not None
    assert best(8.0).low is None


def test_repetitions_are_counted_with_what_they_are() -> None:
    assert estimated_mean([4.0], ITERATIONS).counted == "n=1 iteration"
    assert estimated_mean([4.0] * 36, ITERATIONS).counted == "n=36 iterations"


def test_equal_repetitions_have_an_interval_without_width() -> None:
    assert estimated_mean([4.0, 4.0, 4.0]) == Estimate(4.0, 4.0, 4.0, 3)


def test_what_may_be_negative_is_moved_by_differences() -> None:
    found = estimated_mean([-1.0, 0.0, 1.0, 2.0])
    assert found.low is not None and found.high is not None
    assert found.low < -1 and found.low + found.high == pytest.approx(1.0)


def test_what_is_calculated_was_not_measured() -> None:
    assert exact(2.0).is_calculated
    assert not estimated_mean([2.0]).is_calculated
