"""Waits for objects that are launched belong to the operation that launched them; here arrays for JAX's."""

import array
import asyncio
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rlscope
from rlscope import _analysis, _native
from rlscope.model import Category

Swept = dict[str, Any]


@pytest.fixture
def awaiting() -> Iterator[Callable[[object], object]]:
    """A function that waits for what it is given, while arrays are followed."""
    function = functools.partial(lambda awaited: awaited)
    assert _native.follow_launched(array.array, "array.__buffer__", Category.BACKEND)
    assert _native.intercept_awaiting(function, "block_until_ready", Category.BACKEND)
    yield function
    _native.restore_all()


def swept(path: Path) -> Swept:
    found: Swept = vars(_analysis.sweep(str(path)))
    assert found["misnested_operations"] == 0
    return found


def entries(found: Swept) -> dict[tuple[str, str], int]:
    """The entries into the backend by stage and operation."""
    return {(row[0], row[1]): row[-1] for row in found["transitions"] if row[3] == "backend"}


def make() -> "array.array[int]":
    return array.array("i", [1, 2, 3])


def test_a_wait_is_in_the_operation_that_launched(awaiting: Callable[[object], object], in_process: Any) -> None:
    with rlscope.operation("inference"), rlscope.operation("act"):
        action = make()
    with rlscope.operation("backpropagation"):
        loss = make()
    outside = make()
    with rlscope.operation("training_loop"):
        in_loop = make()
        assert awaiting(action) is action
        awaiting(loss)
    with rlscope.operation("inference"):
        awaiting(action)  # the stage is there, the operation is not
        assert memoryview(loss).tolist() == [1, 2, 3]
        awaiting(outside)
        awaiting(in_loop)
    assert entries(swept(in_process())) == {
        ("inference", "act"): 2,
        ("backpropagation", "backpropagation"): 2,
        ("inference", "inference"): 2,
    }


def test_of_several_the_last_one_that_was_launched_says_where_the_wait_is(
    awaiting: Callable[[object], object], in_process: Any
) -> None:
    with rlscope.operation("simulation"):
        first = make()
    with rlscope.operation("rollout"):
        last = make()
    awaiting([last, first, 3])
    awaiting([])
    awaiting([3])
    assert entries(swept(in_process())) == {("(none)", "rollout"): 1, ("(none)", "(none)"): 2}


def test_one_that_takes_the_place_of_another_is_its_own(awaiting: Callable[[object], object], in_process: Any) -> None:
    with rlscope.operation("inference"):
        place = id(make())
    objects = [make() for _ in range(10)]
    assert place in map(id, objects)
    for each in objects:
        awaiting(each)
    assert entries(swept(in_process())) == {("(none)", "(none)"): 10}


def test_a_wait_for_a_simulation_is_no_further_one(awaiting: Callable[[object], object], in_process: Any) -> None:
    noticed: list[bool] = []
    with rlscope.operation("simulation"):
        state = make()
    _native.after_simulations(1, lambda: noticed.append(True))
    awaiting(state)
    _native.after_simulations(0, None)
    assert not noticed
    assert entries(swept(in_process())) == {("simulation", "simulation"): 1}


def test_an_error_of_what_waits_is_the_programs(in_process: Any) -> None:
    assert _native.follow_launched(array.array, "array.__buffer__", Category.BACKEND)
    failing = functools.partial(lambda awaited: 1 // 0)
    assert _native.intercept_awaiting(failing, "failing", Category.BACKEND)
    with rlscope.operation("inference"):
        action = make()
    with pytest.raises(ZeroDivisionError):
        failing(action)
    with rlscope.operation("backpropagation"):
        pass
    _native.restore_all()
    assert entries(swept(in_process())) == {("inference", "inference"): 1}


def test_what_cannot_be_followed_is_refused_and_everything_is_given_back(in_process: Any) -> None:
    assert not _native.follow_launched(int, "int", Category.BACKEND)
    assert not _native.intercept_awaiting(object(), "nothing", Category.BACKEND)
    assert _native.follow_launched(array.array, "array.__buffer__", Category.BACKEND)
    _native.restore_all()
    memoryview(make())
    assert entries(swept(in_process())) == {}


def test_a_coroutine_waits_for_what_it_launched(awaiting: Callable[[object], object], in_process: Any) -> None:
    async def act() -> None:
        with rlscope.operation("inference"):
            action = make()
            await asyncio.sleep(0)
        with rlscope.operation("rollout"):
            awaiting(action)
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(act(), act())

    asyncio.run(both())
    assert entries(swept(in_process())) == {("inference", "inference"): 2}
