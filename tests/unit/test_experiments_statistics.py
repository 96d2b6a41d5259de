"""Values over repetitions with their intervals."""

import pytest

from experiments.statistics import bootstrap, bootstrap_mean


def test_the_value_is_the_metric_of_the_means() -> None:
    estimate = bootstrap({"a": [1.0, 3.0], "b": [1.0, 1.0, 1.0]}, lambda means: means["a"] / means["b"])
    assert estimate.value == 2.0
    assert (estimate.low, estimate.high) == (1.0, 3.0)
    assert estimate.repetitions == 2


def test_one_repetition_has_no_width() -> None:
    estimate = bootstrap_mean([4.0])
    assert (estimate.value, estimate.low, estimate.high, estimate.repetitions) == (4.0, 4.0, 4.0, 1)


def test_equal_repetitions_give_equal_intervals_every_time() -> None:
    assert bootstrap_mean([1.0, 2.0, 4.0]) == bootstrap_mean([1.0, 2.0, 4.0])


def test_the_interval_holds_the_value_and_narrows_with_repetitions() -> None:
    few, many = bootstrap_mean([1.0, 2.0] * 2), bootstrap_mean([1.0, 2.0] * 50)
    assert few.low <= few.value <= few.high
    assert many.high - many.low < few.high - few.low
    assert many.value == pytest.approx(1.5)
