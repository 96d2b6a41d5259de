"""What hooks do while a function is traced: nothing but note what its compiled form will be."""

import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rlscope import _analysis
from rlscope.record.declared.callbacks import mark_registered
from rlscope.record.declared.hooks import Hooks
from rlscope.record.declared.kinds import MethodHook, WrapperHook
from rlscope.record.declared.tracing import is_tracing, meet, operations_of, tracing


class Agent:
    def act(self) -> str:
        return "acted"

    def train(self) -> str:
        return "trained, " + self.act()


def double(number: int) -> int:
    return 2 * number


class Pair(NamedTuple):
    first: Callable[[], int]
    second: Callable[[], int]


TAKEN: list[object] = []
MODULE = types.ModuleType("traced")
MODULE.__dict__.update(Agent=Agent, double=double, pair=Pair(lambda: 1, lambda: 2), one=lambda: 1)


def take(given: object) -> None:
    TAKEN.append(given)


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    hooks = Hooks()
    hooks.apply(MethodHook("traced", "Agent", "act", ("inference", "sample_action"), is_traced=True), MODULE)
    hooks.apply(MethodHook("traced", "Agent", "train", ("backpropagation",), is_traced=True), MODULE)
    yield hooks
    hooks.restore()


def test_hooks_note_the_outermost_calls_and_open_nothing(hooks: Hooks, in_process: Callable[[], Path]) -> None:
    with tracing() as met:
        assert Agent().train() == "trained, acted"
        assert is_tracing()
    assert not is_tracing()
    assert met == {("backpropagation",)}
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"].get("operation", 0) == 0


def test_hooks_open_operations_where_nothing_is_traced(hooks: Hooks, in_process: Callable[[], Path]) -> None:
    Agent().train()
    assert vars(_analysis.sweep(str(in_process())))["events"]["operation"] == 3


def test_a_function_traced_inside_another_counts_for_both(hooks: Hooks) -> None:
    with tracing() as outer:
        with tracing() as inner:
            Agent().act()
        meet({("backpropagation",)})  # one that has been compiled before
    assert inner == {("inference", "sample_action")}
    assert outer == {("inference", "sample_action"), ("backpropagation",)}


def test_an_exception_ends_tracing(hooks: Hooks) -> None:
    with pytest.raises(RuntimeError), tracing():
        raise RuntimeError
    assert not is_tracing()


@pytest.mark.parametrize(
    ("met", "operations"),
    [
        (set(), ()),
        ({("replay_buffer_add",)}, ("replay_buffer_add",)),
        ({("replay_buffer_add",), ("sample",)}, ()),
        ({("inference", "sample_action"), ("replay_buffer_add",)}, ("inference", "sample_action")),
        ({("inference", "sample_action"), ("inference", "collect_data")}, ("inference",)),
        ({("backpropagation",), ("inference", "sample_action")}, ("inference+backpropagation",)),
    ],
)
def test_a_compiled_function_is_what_was_met(met: set[tuple[str, ...]], operations: tuple[str, ...]) -> None:
    assert operations_of(met) == operations


def test_a_function_can_be_replaced_by_another(hooks: Hooks) -> None:
    hooks.apply(WrapperHook("traced", ("double",), lambda original: lambda number: original(number) + 1), MODULE)
    assert vars(MODULE)["double"](3) == 7
    assert vars(MODULE)["double"].__name__ == "double"
    hooks.apply(WrapperHook("traced", ("Agent", "gone"), lambda original: original), MODULE)
    hooks.restore()
    assert vars(MODULE)["double"] is double


def test_what_was_given_to_native_code_is_given_again(hooks: Hooks, in_process: Callable[[], Path]) -> None:
    TAKEN.clear()
    MODULE.__dict__["take"] = take
    taker = f"{__name__}.take"
    for name in ("one", "pair", "gone"):
        mark_registered(hooks, name, taker, MODULE)
    function, pair = TAKEN
    assert callable(function)
    assert function() == 1
    assert isinstance(pair, Pair)
    assert (pair.first(), pair.second()) == (1, 2)
    hooks.restore()
    assert TAKEN[2:] == [vars(MODULE)["one"], vars(MODULE)["pair"]]
