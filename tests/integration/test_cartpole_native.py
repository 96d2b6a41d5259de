"""CartPole's physics and random numbers in C++, and the threads that step it."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import cartpole_reference as reference
import numpy as np
import pytest
from cartpole import cpp_threads
from cartpole.cpp_threads import CppThreads
from cartpole.implementation import MOST_STEPS, START, Policy, UnavailableError
from cartpole.policies import make_policy
from framework_runs import ROOT, WORKLOADS

SEED = (7 << 32) + 5
#: More than one thread's share.
ENVIRONMENTS = 3000
POLICY = make_policy(1)

#: Counter, key and numbers of Philox4x32 with ten rounds, which its authors publish with their code (Random123).
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
DRAW = """
#include <stdio.h>
#include "cartpole.h"
int main() {
  cartpole::Random counter;
  cartpole::Key key;
  unsigned* to = counter.words;
  while (scanf("%x %x %x %x %x %x", to, to + 1, to + 2, to + 3, &key.low, &key.high) == 6) {
    const cartpole::Random drawn = cartpole::philox(counter, key);
    for (unsigned word : drawn.words) printf("%08x ", word);
  }
}
"""


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    subprocess.run(["make", "--silent", "-C", ROOT, "simulators", f"PYTHON={sys.executable}"], check=True)


def made(environments: int = ENVIRONMENTS, steps_per_call: int = 1, policy: Policy = POLICY) -> CppThreads:
    return CppThreads(environments, steps_per_call, "cpu", SEED, policy)


def test_random_numbers_in_c_plus_plus_are_those_that_are_published(tmp_path: Path) -> None:
    program = tmp_path / "draw"
    include = WORKLOADS / "cartpole"
    command: list[str | Path] = [
        os.environ.get("CXX", "c++"),
        "-std=c++17",
        f"-I{include}",
        "-x",
        "c++",
        "-",
        "-o",
        program,
    ]
    subprocess.run(command, input=DRAW, text=True, check=True)
    numbers = " ".join(f"{counter} {key}" for counter, key, _ in KNOWN_ANSWERS)
    drawn = subprocess.run([program], input=numbers, text=True, check=True, capture_output=True).stdout
    assert drawn.split() == [word for _, _, answer in KNOWN_ANSWERS for word in answer.split()]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
def test_random_numbers_of_the_tests_are_those_that_are_published(counter: str, key: str, answer: str) -> None:
    low, high = (int(word, 16) for word in key.split())
    words = reference.philox(np.array([int(word, 16) for word in counter.split()]), (low, high))
    assert [f"{word:08x}" for word in words.tolist()] == answer.split()


def test_no_episode_ends_within_a_window() -> None:
    """Why one new start per window is enough: from no corner of the starts do so few steps of any actions end it."""
    corners = np.array(list(itertools.product((-START, START), repeat=4)))
    actions = np.array(list(itertools.product((0, 1), repeat=reference.WINDOW - 1)))
    states = np.repeat(corners, len(actions), axis=0)
    for given in np.tile(actions, (len(corners), 1)).T:
        states = reference.moved(states, given)
        has_failed, _ = reference.ended(states, np.zeros(len(states), int))
        assert not has_failed.any()


def test_threads_simulate_what_the_numbers_say() -> None:
    steps_per_call, calls = 13, 3
    environments = made(steps_per_call=steps_per_call)
    states, _ = reference.simulated(ENVIRONMENTS, calls * steps_per_call, SEED)
    for _ in range(calls):
        environments.simulate()
    # 39 steps of single precision.
    np.testing.assert_allclose(environments.rollout().states[0], states, atol=1e-4)


def test_threads_step_cut_off_and_restart_as_gymnasium() -> None:
    random = np.random.default_rng(3)
    states = random.normal(size=(ENVIRONMENTS, 4)).astype(np.float32) * [1, 1, 0.1, 1]
    states[0] = np.nan
    steps = random.integers(MOST_STEPS, size=ENVIRONMENTS).astype(np.int32)
    steps[:3] = MOST_STEPS - 2
    actions = random.integers(2, size=(4, ENVIRONMENTS)).astype(np.int32)
    seen = made().replay(states.astype(np.float32), steps, actions)
    for step, given in enumerate(actions):
        moved = reference.moved(seen.states[step], given)
        steps = steps + 1
        has_failed, is_late = reference.ended(moved, steps)  # type: ignore[arg-type]
        np.testing.assert_array_equal(seen.terminated[step], has_failed)
        np.testing.assert_array_equal(seen.truncated[step], is_late)
        goes_on = ~(has_failed | is_late)
        # One step of single precision, whose numbers are below 10.
        np.testing.assert_allclose(seen.states[step + 1][goes_on], moved[goes_on], atol=1e-5)
        assert (np.abs(seen.states[step + 1][~goes_on]) <= START).all()
        steps[~goes_on] = 0
    assert seen.truncated[:, 0].tolist() == [False, True, False, False]


def test_actions_are_those_of_the_policy_that_is_used() -> None:
    environments = made(steps_per_call=5, policy=reference.always(POLICY, 0))
    assert not environments.rollout().actions.any()
    environments.use(reference.always(POLICY, 1))
    seen = environments.rollout()
    assert seen.actions.all()
    assert seen.states.shape == (6, ENVIRONMENTS, 4)


def test_without_the_compiled_threads_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpp_threads, "LIBRARY", Path("nowhere.so"))
    with pytest.raises(UnavailableError, match="make simulators"):
        made()
