"""Every implementation of CartPole does as Gymnasium does and acts as the policy says, on the CPU and on a GPU."""

import json
import re
import subprocess
from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest
from framework_runs import PROGRAMS, WORKLOADS
from numpy.typing import NDArray

from experiments.harness.interpreters import python_of

MOST_STEPS = 500
ENVIRONMENTS, STEPS_PER_CALL = 1027, 64  # no multiple of a block of a GPU
UNAVAILABLE = 3

#: Of a state's numbers, which are below 8 where the test begins: float32 rounds these by up to 2.4e-7, twice; what is
#: added to speeds, at most 0.02 of 50, is the result of some fifteen roundings of 6e-8.
EXACT = 2e-6
#: With sines, cosines and quotients that are some 2^-20 off; tests/gpu/test_cartpole_cuda.py has it as well.
APPROXIMATE = 1e-5
#: Standard deviations by which frequencies may differ from chances: seeds are fixed, so what passes keeps passing. That
#: float32 and tanh leave a chance uncertain by about 1e-6 is far below what frequencies can show.
DEVIATIONS = 5.0


@dataclass(frozen=True)
class Way:
    """One implementation, how far a step may be from float64's, and which variant of it, if it has some."""

    name: str
    tolerance: float = EXACT
    variant: str = ""


WAYS = [Way("Gymnasium"), Way("C++ threads"), Way("PyTorch"), Way("PyTorch compiled"), Way("CUDA graph"), Way("XLA")]
WAYS += [Way("CUDA", variant="accurate")]
WAYS += [Way("CUDA", APPROXIMATE, variant) for variant in ("approximate", "matrix units")]
CASES = [
    pytest.param((way, device), id=f"{way.name} {way.variant} on {device}".replace("  ", " "))
    for way in WAYS
    for device in ("cpu", "cuda")
]


@dataclass(frozen=True)
class Trajectory:
    states: NDArray[np.float32]
    actions: NDArray[np.int32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


@dataclass(frozen=True)
class Runs:
    way: Way
    problem: dict[str, NDArray[np.float32]]
    found: dict[str, NDArray[np.float32]]
    complaints: dict[str, list[str]]

    def trajectory(self, label: str) -> Trajectory:
        parts = ("states", "actions", "terminated", "truncated")
        return Trajectory(*(self.found[f"{label}.{part}"] for part in parts))


def make_problem() -> dict[str, NDArray[np.float32]]:
    """A policy that is sure of itself, and states to replay from.

    Some are about to be cut off, some fail at once, and in some a number is none or is infinite.
    """
    random = np.random.default_rng(11)
    problem = {}
    for layer, (inputs, outputs) in enumerate(((4, 64), (64, 64), (64, 2))):
        limit = 6 * inputs**-0.5
        problem[f"weight{layer}"] = random.uniform(-limit, limit, (outputs, inputs)).astype(np.float32)
        problem[f"bias{layer}"] = random.uniform(-limit, limit, outputs).astype(np.float32)
    states = random.uniform(-1, 1, (ENVIRONMENTS, 4)) * [2.5, 3, 0.22, 3]
    odd = [(value, place) for value in (np.nan, np.inf, -np.inf) for place in range(4)]
    for index, (value, place) in enumerate(odd):
        states[index] = 0
        states[index, place] = value
    steps = random.integers(0, MOST_STEPS, ENVIRONMENTS)
    steps[: ENVIRONMENTS // 2] = random.integers(MOST_STEPS - 12, MOST_STEPS, ENVIRONMENTS // 2)
    steps[: len(odd)] = MOST_STEPS - 5
    problem |= {"states": states.astype(np.float32), "steps": steps.astype(np.int32)}
    problem["actions"] = random.integers(0, 2, (10, ENVIRONMENTS)).astype(np.int32)
    return problem | {"environments": np.array(ENVIRONMENTS), "steps_per_call": np.array(STEPS_PER_CALL)}


@pytest.fixture(scope="module", params=CASES)
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """What one implementation did on one device; the test is skipped where it cannot run."""
    way, device = request.param
    python = python_of("pytorch", "torch")
    if python is None:
        pytest.skip("PyTorch is neither here nor in .venvs/pytorch: install_experiments makes it")
    directory = tmp_path_factory.mktemp("cartpole")
    problem = make_problem()
    np.savez(directory / "problem.npz", **problem)
    program = PROGRAMS / "cartpole_runs.py"
    files = (directory / "problem.npz", directory / "found.npz")
    command = [python, program, WORKLOADS, way.name, device, *files, *[way.variant] * bool(way.variant)]
    finished = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if finished.returncode == UNAVAILABLE:
        pytest.skip(finished.stdout.strip())
    assert finished.returncode == 0, finished.stderr[-4000:]
    complaints = json.loads(finished.stdout.splitlines()[-1])
    return Runs(way, problem, dict(np.load(files[1])), complaints)


class Gymnasium:
    """Gymnasium's own environment, put where it is wanted before each step."""

    def __init__(self) -> None:
        self._env = gymnasium.make("CartPole-v1", disable_env_checker=True)  # which warns of what is not a number
        self._env.reset(seed=0)
        self._env.action_space.seed(0)

    def step(self, state: NDArray[np.float32], lasted: int, action: int) -> tuple[NDArray[np.float64], bool, bool]:
        """The next state in float64, and whether the episode terminated or was truncated."""
        inner = self._env.unwrapped
        inner.state, inner.steps_beyond_terminated = state.astype(np.float64), None
        self._env.set_wrapper_attr("_elapsed_steps", lasted)
        with np.errstate(invalid="ignore"):
            _, _, terminated, truncated, _ = self._env.step(int(action))
        return inner.state, terminated, truncated


def distance_to_an_end(state: NDArray[np.float64]) -> float:
    """How far the cart or the pole is from where an episode ends."""
    return float(min(abs(abs(state[0]) - 2.4), abs(abs(state[2]) - 12 * np.pi / 180)))


def assert_as_gymnasium(found: Trajectory, lasted: NDArray[np.int32], tolerance: float) -> int:
    """Holds each step against Gymnasium's from the same state; returns how many episodes ended."""
    reference, lasted, ends = Gymnasium(), lasted.copy(), 0
    for step, environment in np.ndindex(found.actions.shape):
        where = f"step {step} of environment {environment}"
        before, after = found.states[step, environment], found.states[step + 1, environment]
        state, terminated, truncated = reference.step(
            before, int(lasted[environment]), found.actions[step, environment]
        )
        if distance_to_an_end(state) > tolerance:  # else rounding decides
            assert found.terminated[step, environment] == terminated, where
        assert found.truncated[step, environment] == (truncated and not found.terminated[step, environment]), where
        if found.terminated[step, environment] or found.truncated[step, environment]:
            assert (abs(after) <= 0.05 + 1e-8).all(), where
            lasted[environment], ends = 0, ends + 1
        else:
            np.testing.assert_allclose(after, state, rtol=0, atol=tolerance, err_msg=where)
            lasted[environment] += 1
    return ends


def test_given_actions_do_what_they_do_in_gymnasium(runs: Runs) -> None:
    found = runs.trajectory("replay")
    np.testing.assert_array_equal(found.states[0], runs.problem["states"])
    np.testing.assert_array_equal(found.actions, runs.problem["actions"])
    assert assert_as_gymnasium(found, runs.problem["steps"], runs.way.tolerance) > ENVIRONMENTS / 2


def test_an_episode_with_what_is_no_number_goes_on_until_it_is_cut_off(runs: Runs) -> None:
    found = runs.trajectory("replay")
    odd = np.isnan(runs.problem["states"]).any(axis=1)
    assert odd.sum() == 4
    assert not found.terminated[:5, odd].any()
    assert not found.truncated[:4, odd].any() and found.truncated[4, odd].all()
    assert np.isnan(found.states[:5, odd]).any(axis=2).all()
    assert np.isfinite(found.states[5:, odd]).all()


def test_steps_of_the_policy_are_gymnasiums(runs: Runs) -> None:
    found = runs.trajectory("rollout")
    few = Trajectory(*(part[:, :150] for part in (found.states, found.actions, found.terminated, found.truncated)))
    assert (abs(few.states[0]) <= 0.05 + 1e-8).all()
    assert assert_as_gymnasium(few, np.zeros(150, np.int32), runs.way.tolerance) > 150


def chances_of_1(problem: dict[str, NDArray[np.float32]], states: NDArray[np.float32]) -> NDArray[np.float64]:
    """What the policy says in float64."""
    values = states.astype(np.float64)
    for layer in range(3):
        values = (np.tanh(values) if layer else values) @ problem[f"weight{layer}"].T.astype(np.float64)
        values += problem[f"bias{layer}"]
    return 1 / (1 + np.exp(values[..., 0] - values[..., 1]))


def deviations(surprise: NDArray[np.float64], variance: NDArray[np.float64]) -> float:
    """By how many standard deviations a sum is not zero, whose parts are independent and of such variances."""
    return float(surprise.sum() / np.sqrt(variance.sum()))


def test_actions_are_as_frequent_as_the_policy_says(runs: Runs) -> None:
    found = runs.trajectory("rollout")
    assert set(np.unique(found.actions)) == {0, 1}
    chances = chances_of_1(runs.problem, found.states[:-1])
    assert (chances < 0.1).mean() > 0.01 and (chances > 0.9).mean() > 0.01
    surprise, variance = found.actions - chances, chances * (1 - chances)
    assert abs(deviations(surprise, variance)) < DEVIATIONS
    for low in np.arange(0, 1, 0.1):  # whether it is sure or not
        some = (low <= chances) & (chances < low + 0.1)
        if some.any():
            assert abs(deviations(surprise[some], variance[some])) < DEVIATIONS, f"chances from {low:.1f}"
    for step in range(STEPS_PER_CALL):
        assert abs(deviations(surprise[step], variance[step])) < DEVIATIONS, f"step {step}"


def test_random_numbers_do_not_come_again(runs: Runs) -> None:
    """Neither in the next step, nor in the environment beside, nor in new starts."""
    found = runs.trajectory("rollout")
    chances = chances_of_1(runs.problem, found.states[:-1])
    surprise, variance = found.actions - chances, chances * (1 - chances)
    for one, other in (np.s_[1:, :], np.s_[:-1, :]), (np.s_[:, 1:], np.s_[:, :-1]):
        products, variances = surprise[one] * surprise[other], variance[one] * variance[other]
        assert abs(deviations(products, variances)) < DEVIATIONS
    starts = np.concatenate([found.states[0], found.states[1:][found.terminated | found.truncated]])
    assert len(np.unique(starts, axis=0)) == len(starts)
    variance_of_start = np.full(len(starts), 0.1**2 / 12)
    for number in range(4):
        assert abs(deviations(starts[:, number].astype(float), variance_of_start)) < DEVIATIONS
        others = starts[:, number] * starts[:, (number + 1) % 4]
        assert abs(deviations(others.astype(float), variance_of_start**2)) < DEVIATIONS
        assert starts[:, number].min() < -0.0495 and starts[:, number].max() > 0.0495


def test_collect_does_what_rollout_shows(runs: Runs) -> None:
    after_rollout, after_collect = runs.trajectory("after rollout"), runs.trajectory("after collect")
    np.testing.assert_array_equal(after_collect.actions, after_rollout.actions)
    # Another kernel may round otherwise, and sixteen steps pass errors on.
    np.testing.assert_allclose(after_collect.states, after_rollout.states, rtol=0, atol=1e-4)
    before = runs.trajectory("rolled out")
    assert (before.states[-1] != after_collect.states[-1]).any(axis=1).all()


def test_simulate_takes_either_action_as_often(runs: Runs) -> None:
    if "after simulate.states" not in runs.found:
        pytest.skip("this variant does not simulate alone")
    before = runs.trajectory("before simulate").states[-1]
    after = runs.trajectory("after simulate").states[0]
    reference = Gymnasium()
    taken = []
    for state, found in zip(before, after, strict=True):
        either = [reference.step(state, 1, action)[0] for action in (0, 1)]
        distances = [abs(found - expected).max() for expected in either]
        assert min(distances) <= runs.way.tolerance
        taken.append(distances[1] < distances[0])
    surprise = np.array(taken) - 0.5
    assert abs(deviations(surprise, np.full(len(taken), 0.25))) < DEVIATIONS


@pytest.mark.parametrize("label", ["no environments", "no steps", "fewer"])
def test_sizes_below_one_are_refused(runs: Runs, label: str) -> None:
    kind, text = runs.complaints[label]
    assert kind == "ValueError"
    assert "\n" not in text and "expected" in text and "found" in text


def test_what_does_not_fit_is_refused_with_what_does(runs: Runs) -> None:
    kind, text = runs.complaints["too many"]
    assert kind == "MemoryError"
    match = re.search(r"at most (\d+) environments", text)
    assert match and 1000 < int(match[1]) < 10**13
    assert "\n" not in text
