"""Calls of compiled functions that act are told by what takes their results; here partial functions and arrays."""

import array
import functools
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rlscope
from rlscope import _analysis, _native
from rlscope.model import Category

INFERENCE = _native.guessed_stage("inference")
SIMULATION = _native.default_operation("simulation")
Numbers = array.array  # not of `int` at run time before Python 3.12


def compute(*given: object, **named: object) -> "array.array[int]":
    return Numbers("i", [1, 2, 3])


class Agent:
    """What a program calls: compiled functions of its own and of a library, and what gets a value of their results."""

    def __init__(self) -> None:
        self.act, self.more, self.library = (self._compiled(is_library) for is_library in (False, False, True))
        self.update = self._compiled(False, _native.default_operation("backpropagation"))
        self.compiled_step = self._compiled(False, SIMULATION)
        self.get = functools.partial(lambda awaited: awaited[0])
        self.wait = functools.partial(lambda awaited: awaited)
        for function, name in ((self.get, "get"), (self.wait, "wait")):
            assert _native.intercept_awaiting(function, name, Category.BACKEND)

    def _compiled(self, is_library: bool, label: _native.Scope | None = None) -> Callable[..., "array.array[int]"]:
        made = functools.partial(compute)
        assert _native.intercept_compiled(made, "jit", Category.BACKEND)
        _native.label_compiled(made, label)
        _native.follow_acting(made, INFERENCE, "compiler", is_library)
        return made


@pytest.fixture
def agent() -> Iterator[Agent]:
    assert _native.follow_launched(Numbers, "array.__buffer__", Category.BACKEND, "held")
    yield Agent()
    _native.restore_all()


def step(action: object = None) -> None:
    with rlscope.operation("simulation"):
        pass


def entries(path: Path) -> dict[str, int]:
    """The entries into the backend by stage; of calls and of getting a value each is one."""
    swept: Any = vars(_analysis.sweep(str(path)))
    assert swept["misnested_operations"] == 0
    found: dict[str, int] = {}
    for row in swept["transitions"]:
        if row[3] == "backend":
            found[row[0]] = found.get(row[0], 0) + row[-1]
    return found


TURNS = 10


def test_what_an_environment_takes_is_inference_from_the_second_turn_on(agent: Agent, in_process: Any) -> None:
    for _ in range(TURNS):
        step(agent.get(agent.act({"weights": 1}, 2)))
    assert entries(in_process()) == {"(none)": 2, "inference": 2 * (TURNS - 1)}


def test_it_lasts_until_the_value_is_read(agent: Agent, in_process: Any) -> None:
    for turn in range(TURNS):
        scores = agent.act()
        assert _native.is_open(INFERENCE) == (turn > 0)
        agent.get(agent.library(scores))  # such as the best of them
        assert not _native.is_open(INFERENCE)
        agent.more()
        step()
    assert entries(in_process()) == {"(none)": 3 + TURNS, "inference": 3 * (TURNS - 1)}


def test_the_first_of_the_calls_that_lead_to_a_value_opens_it(agent: Agent, in_process: Any) -> None:
    class Key:
        """As of a random key, of which an array is a part."""

        def __init__(self, held: object) -> None:
            self.held = held

    for _ in range(TURNS):
        key = Key(agent.library())
        first = agent.more(key)
        step(agent.get(agent.act(first, named=first)))
    assert entries(in_process()) == {"(none)": 4, "inference": 4 * (TURNS - 1)}


def test_what_is_called_before_an_update_is_not(agent: Agent, in_process: Any) -> None:
    for _ in range(TURNS):
        agent.get(agent.act())  # of the last observation, as for advantages
        agent.update()
        step()
    assert entries(in_process()) == {"(none)": 2 * TURNS, "backpropagation": TURNS}


def test_one_function_serves_both_purposes(agent: Agent, in_process: Any) -> None:
    for _ in range(TURNS):
        step(agent.get(agent.act()))
        targets = agent.act()
        agent.update(targets)
        agent.get(targets)
    assert entries(in_process()) == {"(none)": 2 + 2 * TURNS, "inference": 2 * (TURNS - 1), "backpropagation": TURNS}


def test_what_nobody_reads_is_not(agent: Agent, in_process: Any) -> None:
    """A target network is moved, and what only waits for it gets no value."""
    for _ in range(TURNS):
        agent.update()
        agent.wait(agent.more({}))
        step()
    assert entries(in_process()) == {"(none)": 2 * TURNS, "backpropagation": TURNS}


def test_what_a_library_makes_of_a_loss_is_not(agent: Agent, in_process: Any) -> None:
    for _ in range(TURNS):
        loss = agent.update()
        agent.get(agent.library(loss))
        agent.get(agent.act(loss))  # as with parameters in one array
        step()
    assert entries(in_process()) == {"(none)": 2 * TURNS + 2, "backpropagation": TURNS, "inference": 2 * (TURNS - 1)}


def test_a_compiled_environment_takes_what_nobody_reads(agent: Agent, in_process: Any) -> None:
    for _ in range(TURNS):
        agent.compiled_step(agent.act())
    assert entries(in_process()) == {"(none)": 1, "inference": TURNS - 1, "simulation": TURNS}


def test_an_environment_may_read_inside(agent: Agent, in_process: Any) -> None:
    def read(action: object) -> None:
        with rlscope.operation("simulation"), rlscope.operation("wrapped"):
            agent.get(action)

    for _ in range(TURNS):
        read(agent.act())
    found = entries(in_process())
    assert found == {"(none)": 1, "simulation": 1, "inference": 2 * (TURNS - 1)}, "who waits is where it was launched"


def test_a_place_that_goes_on_to_an_update_opens_no_more(agent: Agent, in_process: Any) -> None:
    for number in range(TURNS):
        agent.get(agent.act())
        (step if number < 2 else agent.update)()
    assert entries(in_process()) == {"(none)": 2 + 2 * (TURNS - 3), "inference": 4, "backpropagation": TURNS - 2}


def test_a_stage_that_is_certain_stays(agent: Agent, in_process: Any) -> None:
    for _ in range(TURNS):
        with rlscope.operation("synchronisation"):
            agent.get(agent.act())
        step()
    assert entries(in_process()) == {"synchronisation": 2 * TURNS}


def test_the_place_is_the_programs(agent: Agent, in_process: Any) -> None:
    """Through functions of the package that compiles, one place of the program is one, and two are two."""
    package = types.ModuleType("compiler.api")
    exec("def outer(function):\n    return inner(function)\ndef inner(function):\n    return function()", vars(package))
    for _ in range(TURNS):
        step(agent.get(package.outer(agent.library)))
        agent.get(package.outer(agent.library))
        agent.update()
    assert entries(in_process()) == {"(none)": 2 + 2 * TURNS, "inference": 2 * (TURNS - 1), "backpropagation": TURNS}


def test_what_is_not_followed_opens_nothing(in_process: Any) -> None:
    made, get = functools.partial(compute), functools.partial(lambda awaited: awaited[0])
    assert _native.intercept_compiled(made, "jit", Category.BACKEND)
    assert _native.follow_launched(Numbers, "array.__buffer__", Category.BACKEND)
    assert _native.intercept_awaiting(get, "get", Category.BACKEND)
    for _ in range(TURNS):
        step(get(made(Agent)))
    _native.restore_all()
    assert entries(in_process()) == {"(none)": 2 * TURNS}
