"""Estimates of a whole run from a sample of its iterations: their intervals hold the truth as often as they say."""

import numpy as np
import pytest

from rlscope.compare.sampled.whole_run import WHOLE, as_series, whole_run


def test_seconds_are_scaled_and_shares_are_ratios() -> None:
    iterations = [{("inference", "backend"): 0.1, ("simulation", "simulator"): 0.4} for _ in range(40)]
    found = whole_run(as_series(iterations), 2000)
    assert (found.recorded, found.iterations, found.seconds.value) == (40, 2000, pytest.approx(1000))
    shares = {(part.stage, part.category): part.share.value for part in found.parts}
    assert shares == pytest.approx(
        {
            ("simulation", ""): 0.8,
            ("", "simulator"): 0.8,
            ("simulation", "simulator"): 0.8,
            ("inference", ""): 0.2,
            ("", "backend"): 0.2,
            ("inference", "backend"): 0.2,
        }
    )
    assert all(part.share.low == pytest.approx(part.share.value) for part in found.parts), "nothing scatters"


def test_two_iterations_have_no_interval() -> None:
    found = whole_run(as_series([{("a", "python"): 1.0}, {("a", "python"): 2.0}]), 100)
    assert (found.seconds.value, found.seconds.low) == (150, None)
    assert found.to_json_dict()["seconds_high"] is None


def test_a_share_is_sure_where_only_the_lengths_of_iterations_scatter() -> None:
    """Half of each iteration is of one stage, be it 1 s long or 9 s: the seconds are not known well, the share is."""
    found = whole_run(as_series([{("a", "python"): each, ("b", "python"): each} for each in (1.0, 9.0, 2.0, 4.0)]), 4)
    share = next(part.share for part in found.parts if part.stage == "a")
    assert (share.low, share.high) == (pytest.approx(0.5), pytest.approx(0.5))
    assert found.seconds.high is not None and found.seconds.high > 1.2 * found.seconds.value


@pytest.mark.parametrize("alike", [0.0, 0.9])
def test_samples_of_known_runs_hold_the_known_share(alike: float) -> None:
    """Forty runs of 2,000 iterations, of which each 50th is in the sample; neighbours of the run are alike, or not."""
    held = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        noise = random.normal(size=(2000, 2))
        for number in range(1, 2000):
            noise[number] = alike * noise[number - 1] + np.sqrt(1 - alike**2) * noise[number]
        part, rest = np.exp(0.5 * noise).T
        series = {WHOLE: part + rest, ("a", ""): part}
        truth = part.sum() / (part + rest).sum()
        (found,) = whole_run({key: values[25::50] for key, values in series.items()}, 2000).parts
        assert found.share.low is not None and found.share.high is not None
        held += found.share.low <= truth <= found.share.high
    assert held >= 36
