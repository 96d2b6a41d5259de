"""The model of lock-step sampling: published numbers, closed forms beside the simulation, and what it refuses."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.parallel_sampling.lock_step import (
    BATCHED_INFERENCE_S,
    PRESETS,
    RANDOM,
    TOGETHER,
    Sampling,
    Simulated,
    grid_mean_s,
    replay,
    simulate,
)
from rlscope.errors import UsageError

TALK = PRESETS["talk"]
BATCHED = replace(TALK, environments_per_worker=1, inference_s=BATCHED_INFERENCE_S)
ITERATIONS = 20
#: Standard errors that a mean of draws may be away from what is expected.
STANDARD_ERRORS = 6
#: Of the numerical integral of `expected_maximum`, in standard deviations.
INTEGRAL_WIDTH, INTEGRAL_POINTS = 9.0, 20_001


def reset_rate(sampling: Sampling) -> float:
    """Return how many episodes end in a step of one environment, on average."""
    return 1 / sampling.episode_length if sampling.episode_length else sampling.reset_probability


def lock_step_step_s(sampling: Sampling) -> float:
    """Mean seconds of a vector step of one worker, without inference, where steps do not vary.

    The step takes a reset longer if any of E environments ends its episode: t_step + t_reset (1 - (1 - p)^E), the
    complement of none. That is exact also for episodes of one length L in random phase, with p = 1 / L. Those that
    are together all end at once: t_step + t_reset / L. One after the other, times add.
    """
    each, rate = sampling.environments_per_worker, reset_rate(sampling)
    if sampling.sequential:
        return each * (sampling.step_s + rate * sampling.reset_s)
    together = sampling.episode_length is not None and sampling.phase == TOGETHER
    any_resets = rate if together else 1 - (1 - rate) ** each
    return sampling.step_s + sampling.reset_s * any_resets


def batched_step_s(sampling: Sampling) -> float:
    """Mean seconds of a step of an environment that waits for none: t_step + p t_reset, by linearity of the mean."""
    return sampling.step_s + reset_rate(sampling) * sampling.reset_s


def gaussian_step_s(sampling: Sampling) -> float:
    """Mean seconds of a vector step without resets where steps are gaussian: mu + c_E sigma.

    c_E is the mean of the largest of E standard normal numbers (order statistics: David and Nagaraja, Order
    Statistics, 2003, 3.1; c_24 = 1.948). It leaves aside that a step is cut at 0, which matters from a variation of
    about 0.3.
    """
    return sampling.step_s * (1 + sampling.step_cv * expected_maximum(sampling.environments_per_worker))


def expected_maximum(count: int) -> float:
    """Mean of the largest of `count` standard normal numbers: the integral of x d(Phi(x)^count)."""
    edges = np.linspace(-INTEGRAL_WIDTH, INTEGRAL_WIDTH, INTEGRAL_POINTS)
    below = np.array([math.erfc(-edge / math.sqrt(2)) / 2 for edge in edges]) ** count
    return float(((edges[1:] + edges[:-1]) / 2 * np.diff(below)).sum())


def simulation(sampling: Sampling, iterations: int = ITERATIONS) -> Simulated:
    return simulate(sampling, np.random.default_rng(0), iterations)


@pytest.mark.parametrize(
    ("grid", "mean_ms", "slide_ms"),
    [
        ([[3, 3, 3, 3], [3, 3, 3, 3], [100, 3, 100, 3], [100, 3, 100, 3]], 51.5, 52),
        ([[3, 3, 3], [100, 100, 3], [100, 100, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3]], 106 / 3, 35),
        ([[3], [3], [3], [100], [3]], 22.4, 23),
        ([[3], [3], [3], [103], [3]], 23, 23),
    ],
)
def test_worked_grids(grid: list[list[float]], mean_ms: float, slide_ms: float) -> None:
    found = 1000 * grid_mean_s([[cell / 1000 for cell in row] for row in grid])
    assert found == pytest.approx(mean_ms)
    assert found == pytest.approx(slide_ms, abs=1)


@pytest.mark.parametrize(
    ("preset", "step_ms", "sampling_s", "batched_s", "speedup", "whole"),
    [("talk", 24.0, 124, 26.3, 4.7, 3.5), ("talk, 150 s", 29.2, 151, 28.0, 5.4, 3.99)],
)
def test_both_calibrations(
    preset: str, step_ms: float, sampling_s: float, batched_s: float, speedup: float, whole: float
) -> None:
    vectorised = simulation(PRESETS[preset])
    batched = simulation(replace(PRESETS[preset], environments_per_worker=1, inference_s=BATCHED_INFERENCE_S))
    assert 1000 * lock_step_step_s(PRESETS[preset]) == pytest.approx(step_ms, abs=0.1)
    assert vectorised.sampling_s.mean() == pytest.approx(sampling_s, rel=0.01)
    assert batched.sampling_s.mean() == pytest.approx(batched_s, rel=0.01)
    assert vectorised.sampling_s.mean() / batched.sampling_s.mean() == pytest.approx(speedup, rel=0.02)
    assert vectorised.iteration_s.mean() / batched.iteration_s.mean() == pytest.approx(whole, rel=0.02)


@pytest.mark.parametrize(
    ("environments", "per_s"), [(1, 209), (12, 804), (24, 968), (48, 1160), (96, 1480), (128, 1700)]
)
def test_more_environments_in_lock_step(environments: int, per_s: float) -> None:
    sampling = replace(TALK, environments=environments, environments_per_worker=environments)
    assert environments / (lock_step_step_s(sampling) + sampling.inference_s) == pytest.approx(per_s, rel=0.01)
    assert simulation(sampling, iterations=8).samples_per_s == pytest.approx(per_s, rel=0.02)


def test_more_workers_that_wait_for_none() -> None:
    assert 1 / (batched_step_s(BATCHED) + BATCHED.inference_s) == pytest.approx(201, rel=0.005)


@pytest.mark.parametrize(
    ("each", "step_ms"), [(1, 5.2), (2, 6.3), (3, 7.3), (4, 8.2), (6, 10.0), (8, 11.9), (12, 15.4), (24, 25.0)]
)
def test_hybrid(each: int, step_ms: float) -> None:
    found = simulation(replace(BATCHED, environments_per_worker=each))
    assert 1000 * found.sampling_s.mean() / TALK.steps == pytest.approx(step_ms, abs=0.15)


def test_episodes_that_end_together_cost_no_more_than_one_environment() -> None:
    length = replace(TALK, reset_probability=0, episode_length=100)
    together, scattered = replace(length, phase=TOGETHER), replace(length, phase=RANDOM)
    alone = replace(together, environments_per_worker=1)
    assert 1000 * simulation(together).step_s == pytest.approx(4.0)
    assert simulation(together).sampling_s - TALK.steps * TALK.inference_s == pytest.approx(20.0)
    assert simulation(alone).step_s == pytest.approx(simulation(together).step_s)
    phases = [simulate(scattered, np.random.default_rng(seed), 1).step_s.mean() for seed in range(50)]
    assert 1000 * np.mean(phases) == pytest.approx(24.0, abs=0.7)


def test_expected_maximum_of_normal_numbers() -> None:
    assert expected_maximum(1) == pytest.approx(0, abs=1e-6)
    assert expected_maximum(2) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-4)
    assert expected_maximum(24) == pytest.approx(1.948, abs=1e-3)


@settings(max_examples=40, deadline=None)
@given(
    workers=st.integers(1, 6),
    each=st.integers(1, 12),
    rate=st.floats(0, 1),
    step_s=st.floats(0.001, 0.1),
    reset_s=st.floats(0.001, 1),
    sequential=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_closed_form_of_a_reset_is_what_the_simulation_tends_to(
    workers: int, each: int, rate: float, step_s: float, reset_s: float, sequential: bool, seed: int
) -> None:
    sampling = Sampling(
        environments=workers * each,
        environments_per_worker=each,
        steps=2000,
        step_s=step_s,
        reset_s=reset_s,
        reset_probability=rate,
        sequential=sequential,
    )
    found = simulate(sampling, np.random.default_rng(seed), 1)
    share = rate if sequential else 1 - (1 - rate) ** each
    deviation_s = reset_s * math.sqrt(share * (1 - share) * (each if sequential else 1))
    error_s = deviation_s / math.sqrt(sampling.steps * workers)
    # One draw more or less, where so few are expected that their number is not normal.
    slack_s = 10 * reset_s / (sampling.steps * workers)
    assert found.step_s[0] == pytest.approx(lock_step_step_s(sampling), abs=STANDARD_ERRORS * error_s + slack_s)
    assert batched_step_s(sampling) == pytest.approx(lock_step_step_s(replace(sampling, environments_per_worker=1)))


@settings(max_examples=20, deadline=None)
@given(each=st.integers(1, 64), variation=st.floats(0, 0.2), seed=st.integers(0, 1000))
def test_closed_form_of_gaussian_steps_is_what_the_simulation_tends_to(each: int, variation: float, seed: int) -> None:
    sampling = replace(
        TALK, environments=each, environments_per_worker=each, reset_probability=0, step_cv=variation, steps=2000
    )
    found = simulate(sampling, np.random.default_rng(seed), 1).step_s[0]
    error_s = variation * sampling.step_s / math.sqrt(sampling.steps)
    assert found == pytest.approx(gaussian_step_s(sampling), abs=STANDARD_ERRORS * error_s + 1e-7)


@settings(max_examples=30, deadline=None)
@given(each=st.integers(1, 4), factor=st.integers(2, 4), rate=st.floats(0, 0.3), seed=st.integers(0, 1000))
def test_with_the_same_resets_more_environments_in_a_worker_never_sample_sooner(
    each: int, factor: int, rate: float, seed: int
) -> None:
    few = Sampling(24 * each, each, steps=50, step_s=0.003, reset_s=0.1, inference_s=0.001)
    few = replace(few, environments=each * factor * 6)
    many = replace(few, environments_per_worker=each * factor)
    resets = np.random.default_rng(seed).random((100, few.environments)) < rate
    assert (replay(resets, few).sampling_s <= replay(resets, many).sampling_s + 1e-9).all()


def test_a_replay_counts_given_resets() -> None:
    sampling = Sampling(4, 2, steps=3, step_s=1, reset_s=10, inference_s=0.5, synchronisation_s=2, optimize_s=20)
    resets = np.zeros((6, 4), bool)
    resets[0, 0] = resets[0, 1] = resets[2, 1] = True  # two rows of the first worker in the first iteration
    resets[4, 3] = True
    found = replay(resets, sampling)
    assert found.sampling_s == pytest.approx([3 + 20 + 1.5 + 2, 3 + 10 + 1.5 + 2])
    assert found.step_s == pytest.approx([(23 + 3) / 6, (3 + 13) / 6])
    assert found.iteration_s == pytest.approx([46.5, 36.5])
    assert found.samples == 12
    assert found.samples_per_s == pytest.approx(12 / 21.5)
    overlapped = replay(resets, replace(sampling, overlap_learner=True))
    assert overlapped.iteration_s == pytest.approx([26.5, 20])
    one_after_the_other = replay(resets, replace(sampling, sequential=True))
    assert one_after_the_other.sampling_s == pytest.approx([6 + 30 + 1.5 + 2, 6 + 10 + 1.5 + 2])


def test_episodes_of_one_length_go_on_in_the_next_iteration() -> None:
    sampling = replace(TALK, reset_probability=0, episode_length=7, phase=TOGETHER, steps=5)
    assert simulation(sampling, 3).step_s == pytest.approx([0.003, 0.003 + 0.1 / 5, 0.003 + 0.1 / 5])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"step_s": 0}, "step_s: expected more than 0 seconds, found 0"),
        ({"step_s": float("nan")}, "step_s: expected more than 0 seconds, found nan"),
        ({"reset_s": -1}, "reset_s: expected more than 0 seconds, found -1"),
        ({"inference_s": -1}, "inference_s: expected 0 seconds or more, found -1"),
        ({"optimize_s": float("inf")}, "optimize_s: expected 0 seconds or more, found inf"),
        ({"synchronisation_s": -1}, "synchronisation_s: expected 0 seconds or more, found -1"),
        ({"step_cv": -0.1}, "step_cv: expected 0 or more, found -0.1"),
        ({"reset_probability": 1.5}, "reset_probability: expected 0 to 1, found 1.5"),
        ({"environments": 0}, "environments: expected 1 or more, found 0"),
        ({"steps": 0}, "steps: expected 1 or more, found 0"),
        ({"environments_per_worker": 0}, "environments_per_worker: expected 1 or more, found 0"),
        ({"environments_per_worker": 48}, "environments_per_worker: expected at most 24, all of them, found 48"),
        (
            {"environments_per_worker": 5},
            "environments_per_worker: expected a divisor of 24, the environments, found 5",
        ),
        ({"episode_length": 0, "reset_probability": 0}, "episode_length: expected 1 or more, found 0"),
        ({"episode_length": 100}, "expected this or reset_probability, not both, found 100 and 0.0098"),
        ({"phase": "half"}, "phase: expected together or random, found half"),
    ],
)
def test_values_without_a_meaning_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"sampling: .*{message}"):
        replace(TALK, **values)


@pytest.mark.parametrize("shape", [(5000, 12), (4999, 24), (0, 24), (24,)])
def test_resets_of_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match=r"resets: expected an array of \[a multiple of 5000, 24\], found \["):
        replay(np.zeros(shape, bool), TALK)


def test_steps_that_vary_cannot_be_replayed() -> None:
    with pytest.raises(UsageError, match=r"step_cv: expected 0 in a replay, found 0.1"):
        replay(np.zeros((5000, 24), bool), replace(TALK, step_cv=0.1))


@pytest.mark.parametrize("grid", [[], [[]], [[3, 3], [3]], [[3, 0]]])
def test_grids_without_a_meaning_are_refused(grid: list[list[float]]) -> None:
    with pytest.raises(UsageError, match=r"sampling: grid: expected"):
        grid_mean_s(grid)
