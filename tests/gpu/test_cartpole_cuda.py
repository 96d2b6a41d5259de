"""The CUDA kernels of CartPole: the steps they make, the actions they draw, and what they write."""

from typing import Any

import cartpole_reference as reference
import numpy as np
import pytest
from cartpole.implementation import MOST_STEPS, START, Policy, UnavailableError
from cartpole.policies import make_policy
from numpy.typing import NDArray

cupy = pytest.importorskip("cupy", reason="needs CuPy: pip install cupy-cuda13x or cupy-cuda12x")

from cartpole.cuda import COLLECT, SIMULATE, TERMINATED, TRUNCATED, WITH_DATA, Cuda  # noqa: E402

SEED = (7 << 32) + 5
POLICY = make_policy(1)

#: Relative error of a factor and absolute error of tanh: single precision rounds at 2^-24, and tanhf is within two
#: units in the last place; PTX gives 2^-11 for tanh.approx; half precision rounds at 2^-11, what tanh becomes as well.
ERRORS = {
    "accurate": (2**-24, 2**-22),
    "approximate": (2**-24, 2**-10.5),
    "matrix units": (2**-11, 2**-10),
}
#: Of one step in single precision, or with sines that are 2^-20 off; the numbers are below 10.
STEP_ERROR = 1e-5

Numbers = NDArray[Any]


def made(environments: int, steps_per_call: int, variant: str, policy: Policy = POLICY, **factors: int) -> Cuda:
    return Cuda(environments, steps_per_call, "cuda", SEED, policy, variant=variant, **factors)


def is_clear(states: Numbers) -> Numbers:
    """Whether these are so far from where episodes end that rounding does not decide."""
    beside = np.abs(np.abs(states[:, [0, 2]]) - [2.4, 12 * 2 * np.pi / 360])
    return (beside > STEP_ERROR).all(1) | np.isnan(states).any(1)


def check_steps(states: Numbers, actions: Numbers, ends: Numbers, steps: Numbers, first: int | None) -> None:
    """Steps are Gymnasium's, each from the state before it.

    Args:
        states: of shape (K + 1, N, 4).
        actions: of shape (K, N).
        ends: of shape (K, N).
        steps: that the episodes have lasted before the first, of shape (N,).
        first: the number of the first step, if new starts are to be those that are drawn for it.
    """
    environments = states.shape[1]
    steps = steps.astype(int)
    for step, given in enumerate(actions):
        moved = reference.moved(states[step], given)
        steps = steps + 1
        has_failed, is_late = reference.ended(moved, steps)
        expected = np.where(has_failed, TERMINATED, np.where(is_late, TRUNCATED, 0))
        np.testing.assert_array_equal(ends[step][is_clear(moved)], expected[is_clear(moved)])
        goes_on = ends[step] == 0
        np.testing.assert_allclose(states[step + 1][goes_on], moved[goes_on], atol=STEP_ERROR)
        assert (np.abs(states[step + 1][~goes_on]) <= START).all()
        if first is not None:
            window = (first + step) // reference.WINDOW
            starts = reference.starts(reference.drawn(environments, window, reference.WINDOWS, SEED))
            np.testing.assert_allclose(states[step + 1][~goes_on], starts[~goes_on], atol=1e-7)
        steps[~goes_on] = 0


@pytest.mark.parametrize("steps_per_call", [1, 5, 130])
@pytest.mark.parametrize("environments", [1, 33, 1000])
@pytest.mark.parametrize("variant", COLLECT)
def test_everything_is_written_and_follows_from_the_states(
    variant: str, environments: int, steps_per_call: int
) -> None:
    cuda = made(environments, steps_per_call, variant + WITH_DATA)
    lasted = np.zeros(environments, int)
    for call in range(2):
        data = cuda.data
        assert data is not None
        for array in data.pointers():
            array.fill(np.nan if array.dtype == cupy.float32 else 255)
        cuda.collect()
        first = call * steps_per_call
        states, actions, log_probabilities, rewards, ends = map(cupy.asnumpy, data.pointers())
        assert np.isfinite(states).all() and (actions <= 1).all() and (ends <= TRUNCATED).all()
        assert (rewards == 1).all()
        if call == 0:
            starts = reference.starts(reference.drawn(environments, 0, reference.FIRST, SEED))
            np.testing.assert_allclose(states[0], starts, atol=1e-7)
        check_steps(states, actions, ends, lasted, first)
        for step in range(steps_per_call):
            score = reference.scores(POLICY, states[step])
            error = reference.score_error(POLICY, states[step], *ERRORS[variant])
            chance = reference.probability(score)
            number = reference.draws(environments, first + step, SEED)
            # The slope of the probability is at most 1/4; 1e-6 is for the probability's own rounding.
            is_decided = np.abs(number - chance) > error / 4 + 1e-6
            np.testing.assert_array_equal(actions[step][is_decided], (number < chance)[is_decided])
            log = np.log(np.where(actions[step] == 1, chance, 1 - chance))
            assert (np.abs(log_probabilities[step] - log) <= error + 1e-5).all()
            lasted = np.where(ends[step] == 0, lasted + 1, 0)


@pytest.mark.parametrize("variant", COLLECT)
def test_few_actions_are_too_close_to_tell(variant: str) -> None:
    """The tolerance of the test above leaves out less than two in a hundred."""
    states = reference.starts(reference.drawn(1000, 0, reference.FIRST, SEED))
    assert reference.score_error(POLICY, states, *ERRORS[variant]).max() / 2 < 0.02


@pytest.mark.parametrize("variant", COLLECT)
def test_given_actions_step_cut_off_and_restart_as_in_gymnasium(variant: str) -> None:
    environments = 1000
    random = np.random.default_rng(3)
    states = (random.normal(size=(environments, 4)) * [1, 1, 0.1, 1]).astype(np.float32)
    states[0] = np.nan
    steps = random.integers(MOST_STEPS, size=environments).astype(np.int32)
    steps[:3] = MOST_STEPS - 2
    actions = random.integers(2, size=(4, environments)).astype(np.int32)
    seen = made(7, 1, variant).replay(states, steps, actions)
    np.testing.assert_array_equal(seen.actions, actions)
    np.testing.assert_array_equal(seen.states[0], states)
    ends = np.where(seen.terminated, TERMINATED, np.where(seen.truncated, TRUNCATED, 0))
    check_steps(seen.states, actions, ends, steps, None)
    assert seen.truncated[:, 0].tolist() == [False, True, False, False]


@pytest.mark.parametrize("variant", COLLECT)
def test_one_launch_does_what_several_do_and_writing_changes_nothing(variant: str) -> None:
    environments, steps = 1000, 12
    whole = made(environments, steps, variant + WITH_DATA).rollout()
    parts = made(environments, 4, variant + WITH_DATA)
    np.testing.assert_array_equal(np.concatenate([parts.rollout().actions for _ in range(3)]), whole.actions)
    silent = made(environments, steps, variant)
    silent.collect()
    # Another compilation of the same code may round otherwise.
    np.testing.assert_allclose(silent.rollout().states[0], whole.states[-1], atol=1e-4)


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("variant", SIMULATE)
@pytest.mark.parametrize(("environments", "steps_per_call"), [(1, 1), (1000, 1), (1000, 13)])
def test_simulation_is_what_the_numbers_say(variant: str, environments: int, steps_per_call: int, parts: int) -> None:
    cuda = made(environments, steps_per_call, variant, state_factor=3, compute_factor=parts)
    calls = 26 // steps_per_call
    for _ in range(calls):
        cuda.simulate()
    expected, steps = reference.simulated(environments, calls * steps_per_call, SEED, parts)
    states, lasted, extra = map(cupy.asnumpy, (cuda.states, cuda.steps, cuda.extra))
    # An end that rounding decides shifts an episode; of 26000 steps hardly one is so close.
    is_off = np.abs(states - expected).max(1) > 1e-3
    assert is_off.sum() <= 1
    np.testing.assert_array_equal(lasted[~is_off], steps[~is_off])
    assert extra.shape == (2, environments, 4)
    assert (extra == calls * steps_per_call).all()


@pytest.mark.parametrize("variant", COLLECT)
def test_actions_are_those_of_the_policy_that_is_used(variant: str) -> None:
    cuda = made(100, 5, variant, reference.always(POLICY, 0))
    assert not cuda.rollout().actions.any()
    cuda.use(reference.always(POLICY, 1))
    assert cuda.rollout().actions.all()


def test_what_cannot_be_is_one_line() -> None:
    for factors in ({"state_factor": 2}, {"compute_factor": 2}):
        with pytest.raises(ValueError, match="only simulate"):
            made(10, 1, "accurate", **factors).collect()
    with pytest.raises(ValueError, match="expected accurate or approximate"):
        made(10, 1, "matrix units").simulate()
    with pytest.raises(ValueError, match="choose one of accurate"):
        made(10, 1, "exact")
    with pytest.raises(ValueError, match="at least 1 for the state factor"):
        made(10, 1, "accurate", state_factor=0)
    for environments, steps_per_call in ((0, 1), (1, -1)):
        with pytest.raises(ValueError, match="at least 1"):
            made(environments, steps_per_call, "accurate")
    with pytest.raises(MemoryError, match=r"expected at most \d+ environments"):
        made(10**12, 1, "accurate")
    with pytest.raises(MemoryError, match=r"expected at most \d+ environments"):
        made(10**6, 10**6, "accurate" + WITH_DATA)
    with pytest.raises(UnavailableError, match="use the device cuda"):
        Cuda(1, 1, "cpu", SEED, POLICY)
