"""Scripts without a library between windows: nothing is asked once places are known, and a window knows them."""

import functools
import gc
import itertools
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlscope
from rlscope import _native
from rlscope.record.config import RecordConfig

INFERENCE, BACKPROPAGATION = _native.guessed_stage("inference"), _native.guessed_stage("backpropagation")
#: More steps than a process learns from at its start.
MANY = 150
#: Of a place, by which it is told apart from others: so it does not matter where a test takes a step.
CALLERS = 4
#: The steps of a turn: what a program does from one call of its network to the next.
TURN = ("call", "backward", "step")


class Output:
    """What a network returns: like a tensor it may be referred to weakly."""


class Script:
    """A program that calls a network in one place, at which PyTorch is asked as often as `asked` says."""

    def __init__(self, window: Path) -> None:
        self.asked = 0
        self._window = window
        nodes = itertools.count()

        @functools.partial  # called as PyTorch's are, by native code
        def network() -> Output:
            return Output()

        self._network = network
        _native.follow_networks(
            network.func, INFERENCE, BACKPROPAGATION, self._has_gradients, lambda: -1, lambda: next(nodes)
        )
        self._compiled = _native.follow_compiled(_native.Hooked(network, ()), True)
        self._compiling = _native.follow_compiled(_native.Hooked(self._compile, ()), False)
        self._backward = _native.follow_backward(_native.Hooked(lambda _: None, ()), *[lambda _, calls: calls] * 2)

    def _compile(self) -> None:
        self._network()
        self._backward(None)

    def _has_gradients(self) -> bool:
        self.asked += 1
        return True

    def take(self, *steps: str) -> list[bool]:
        """Take steps, and return whether backpropagation was open behind each of them."""
        return [self._take(step) for step in steps]

    def _take(self, step: str, callers: int = CALLERS) -> bool:
        if callers > 0:
            return self._take(step, callers - 1)
        match step:
            case "begin":
                _native.start(self._window)
            case "pause":
                _native.pause(_native.END_STOPPED)
            case "call":
                self._network()
            case "compiled":
                self._compiled()
            case "compiling":
                self._compiling()
            case "backward" if _native.is_followed():
                self._backward(None)
            case "step":
                _native.begin_step()
                _native.end_step()
        return _native.is_open(BACKPROPAGATION)


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    """A program that waits for windows."""
    RecordConfig().save(tmp_path)
    _native.arm()
    yield Script(tmp_path)
    _native.unfollow_networks()
    _native.stop()


def test_nothing_is_asked_between_windows_once_places_are_known(script: Script) -> None:
    script.take(*TURN)
    assert script.asked == 1, "the first window may come soon"
    script.take(*MANY * TURN)
    learnt_from = script.asked
    assert learnt_from < MANY
    script.take(*MANY * TURN)
    assert script.asked == learnt_from
    assert script.take("begin", *TURN, *TURN) == [False, *2 * [True, True, False]], "the place is known in both turns"
    assert script.asked == learnt_from + 2
    script.take("pause", *MANY * TURN)
    assert script.asked == learnt_from + 2


def test_calls_without_steps_teach_too(script: Script) -> None:
    script.take(*200_000 * ("call",))
    assert 0 < script.asked < 200_000


def test_outputs_of_networks_are_forgotten(script: Script) -> None:
    def references() -> int:
        gc.collect()  # what other tests have left may be collected at any time
        return sum(isinstance(thing, weakref.ref) for thing in gc.get_objects())

    script.take("begin", *100 * ("call",))
    before = references()
    script.take(*1000 * ("call",))
    assert references() < before + 100


@pytest.mark.parametrize("at", range(len(TURN)))
def test_a_window_may_begin_and_end_inside_a_turn(script: Script, at: int) -> None:
    script.take(*MANY * TURN)
    before, after = TURN[:at], TURN[at:]
    in_turn = [True, True, False]
    for _ in range(3):
        script.take("begin", *after, *TURN, *before, "pause")
        assert not any(script.take(*after, *TURN, *before)), "nothing is open where nothing is followed"
        assert script.take("begin", *after, *TURN)[-3:] == in_turn
        script.take("pause", *after)


def test_windows_that_follow_each_other_are_as_one(script: Script) -> None:
    script.take(*MANY * TURN)
    assert script.take("begin", "call", "pause", "begin", "backward", "pause", "begin", "step") == [
        False, True, True, True, True, True, True, False,
    ]  # fmt: skip


def test_a_certain_stage_stays_open_where_nothing_is_followed(script: Script) -> None:
    script.take(*MANY * TURN)
    with rlscope.operation("simulation"):
        assert not any(script.take(*TURN))
        assert script.take("begin", *TURN, "pause") == 5 * [False]


def test_what_was_compiled_of_a_network_is_followed_as_the_network(script: Script) -> None:
    turn = ("compiled", "backward", "step")
    script.take("begin", *turn)
    assert script.take(*turn, *turn) == 2 * [True, True, False]
    script.take("pause", *MANY * turn)
    learnt_from = script.asked
    script.take(*MANY * turn)
    assert script.asked == learnt_from, "nothing is asked between windows"


def test_compiling_teaches_nothing_and_opens_nothing(script: Script) -> None:
    script.take("begin", *TURN)
    asked = script.asked
    assert script.take("compiling", *TURN, "call", "compiling", "backward", "step") == [
        False, True, True, False, True, True, True, False,
    ]  # fmt: skip
    assert script.asked == asked + 2, "the places are known all the same"
