"""operation(), phase(), report_progress() and profile() inside one process."""

import contextlib
import copy
import enum
import functools
import inspect
import itertools
import os
import pickle
import threading
import time
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

import pytest

import rlscope
from rlscope import _analysis, _native
from rlscope.analysis.analysis import analyze
from rlscope.errors import UsageError
from rlscope.record import recorder
from rlscope.record.config import LINES_HZ, RecordConfig
from rlscope.record.run.trace_directory import begin_trace
from rlscope.trace.reader import open_trace


def operations_in(path: Path) -> dict[tuple[str, str], int]:
    rows: list[Any] = vars(_analysis.sweep(str(path)))["breakdown"]
    return {(row.stage, row.operation): row.ticks for row in rows}


def test_nothing_happens_where_nothing_records() -> None:
    with rlscope.operation("inference") as scope, rlscope.phase("warm_up"):
        assert scope.name == "inference"
    rlscope.report_progress(timesteps=1)
    assert rlscope.wrap_module(__import__("math")) == 0


def test_operations_nest_and_give_the_stage(in_process: Callable[[], Path]) -> None:
    with rlscope.operation("training_loop"), rlscope.operation("inference"), rlscope.operation("sample_action"):
        pass
    assert set(operations_in(in_process())) == {
        ("(none)", "(none)"),
        ("training_loop", "training_loop"),
        ("inference", "inference"),
        ("inference", "sample_action"),
    }


def test_an_operation_inside_itself_is_one(in_process: Callable[[], Path]) -> None:
    with rlscope.operation("a"), rlscope.operation("a"), rlscope.operation("b"), rlscope.operation("b"):
        pass
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"]["operation"] == 2
    assert swept["misnested_operations"] == 0


def test_closing_an_operation_closes_those_above_it(in_process: Callable[[], Path]) -> None:
    outer, inner = rlscope.operation("outer"), rlscope.operation("inner")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)  # closed already
    with rlscope.operation("after"):
        pass
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["misnested_operations"] == 1
    assert {row[2] for row in swept["breakdown"]} == {"(none)", "outer", "inner", "after"}


def test_a_stage_that_is_open_is_joined(in_process: Callable[[], Path]) -> None:
    stage = _native.joining_stage("simulation")
    with stage, rlscope.operation("reset"), stage, rlscope.operation("reset"), stage:
        pass
    with rlscope.operation("simulation"), stage:
        pass
    with rlscope.operation("inference"), stage:
        pass
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"]["operation"] == 5  # simulation, reset; simulation; inference, simulation
    assert swept["misnested_operations"] == 0


def test_a_guess_ends_where_the_next_stage_begins(in_process: Callable[[], Path]) -> None:
    inference, learning = _native.guessed_stage("inference"), _native.guessed_stage("backpropagation")
    inference.__enter__()
    with rlscope.operation("note"):
        pass
    inference.__enter__()  # joins
    learning.__enter__()
    with _native.joining_stage("simulation"):
        inference.__enter__()  # opens nothing inside what is certain
        inference.__exit__(None, None, None)
    learning.__exit__(None, None, None)  # has ended
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"]["operation"] == 4  # inference, note, backpropagation, simulation
    assert swept["misnested_operations"] == 0
    assert {row[1] for row in swept["breakdown"]} == {"(none)", "inference", "backpropagation", "simulation"}


@pytest.mark.parametrize("name", ["callback", "checkpoint", "log"])
def test_what_leaves_a_stage_is_in_none_for_what_opens_inside(name: str, in_process: Callable[[], Path]) -> None:
    with rlscope.operation("inference"):
        with rlscope.operation(name):
            with _native.joining_stage("inference"):
                pass
            with _native.default_operation("simulation"):
                pass
            _native.guessed_stage("backpropagation").__enter__()
        with _native.joining_stage("inference"), _native.default_operation("simulation"):  # open nothing
            pass
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"]["operation"] == 5
    assert {(row.stage, row.operation) for row in swept["breakdown"] if row.outer_stage} == {("training_loop", name)}
    assert {"inference", "simulation", "backpropagation"} <= {row.stage for row in swept["breakdown"]}


def test_a_guess_ends_with_the_operation_around_it(in_process: Callable[[], Path]) -> None:
    with rlscope.operation("rollout"):
        _native.guessed_stage("inference").__enter__()
    with rlscope.operation("update"):
        pass
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["misnested_operations"] == 0
    assert ("(none)", "update") in {(row[1], row[2]) for row in swept["breakdown"]}


def test_a_training_loop_ends_a_guess(in_process: Callable[[], Path]) -> None:
    _native.guessed_stage("inference").__enter__()
    with rlscope.operation("training_loop"):
        pass
    swept = vars(_analysis.sweep(str(in_process())))
    assert ("training_loop", "training_loop") in {(row[1], row[2]) for row in swept["breakdown"]}


@pytest.mark.parametrize(
    ("follows", "is_open_then"),
    [
        (["simulation", "backward", "backward", "simulation", "backward"], [False, False, True, True, False]),
        (["backward elsewhere", "backward elsewhere", "nothing"], [False, False, False]),
        (["backward", "call without gradients", "nothing"], [False, True, False]),
        (["nothing", "backward", "backward", "backward"], [False, False, False, True]),  # two calls for one backward
    ],
)
def test_a_place_opens_backpropagation_if_a_backward_reached_it_the_last_time(
    follows: list[str], is_open_then: list[bool], in_process: Callable[[], Path]
) -> None:
    inference, backpropagation = _native.guessed_stage("inference"), _native.guessed_stage("backpropagation")
    nodes, gradients = itertools.count(), iter(())

    @functools.partial  # called as PyTorch's are, by native code
    def network() -> None: ...

    def follow(event: str) -> None:
        nonlocal gradients
        if event == "simulation":
            with rlscope.operation("simulation"):
                pass
        elif event == "call without gradients":
            gradients = iter((False,))  # type: ignore[arg-type]
            network()
        elif event != "nothing":
            backward(event)
            _native.begin_step()
            _native.end_step()

    _native.follow_networks(
        network.func, inference, backpropagation, lambda: next(gradients, True), lambda: -1, lambda: next(nodes)
    )

    def reached(event: str, calls: dict[int, tuple[int, int]]) -> Container[int]:
        return () if event == "backward elsewhere" else calls

    backward = _native.follow_backward(_native.Hooked(lambda _: None, ()), reached, reached)
    found = []
    for event in follows:
        network()
        found.append(_native.is_open(backpropagation))
        follow(event)
    _native.unfollow_networks()
    assert found == is_open_then
    assert vars(_analysis.sweep(str(in_process())))["misnested_operations"] == 0


def test_scopes_are_context_managers_of_the_usual_kind(in_process: Callable[[], Path]) -> None:
    scope = rlscope.operation("stacked")
    with contextlib.ExitStack() as stack:  # asks the class, not the object
        assert stack.enter_context(scope) is scope
    with contextlib.ExitStack() as stack:
        stack.push(scope)
    with scope as entered:
        assert entered is scope
    assert scope.__exit__(None, None, None) is None
    with pytest.raises(TypeError):
        type(scope).__enter__(3)  # type: ignore[arg-type]
    assert vars(_analysis.sweep(str(in_process())))["events"]["operation"] == 2


def test_an_exception_closes_the_operation(in_process: Callable[[], Path]) -> None:
    with pytest.raises(KeyError), rlscope.operation("a"):
        raise KeyError("x")
    with rlscope.operation("b"):
        pass
    assert ("(none)", "b") in operations_in(in_process())


def test_as_a_decorator(in_process: Callable[[], Path]) -> None:
    @rlscope.operation("inference")
    def policy(observation: int, *, scale: int = 2) -> int:
        """Doubles."""
        return observation * scale

    assert policy(3, scale=3) == 9
    assert (policy.__name__, policy.__doc__) == ("policy", "Doubles.")
    assert ("inference", "inference") in operations_in(in_process())


def test_a_decorated_function_shows_its_own_parameters() -> None:
    @rlscope.operation("inference")
    def policy(observation: int, *, scale: int = 2) -> int:
        return observation * scale

    found = inspect.getfullargspec(policy)
    assert (found.args, found.kwonlyargs, found.kwonlydefaults) == (["observation"], ["scale"], {"scale": 2})


@pytest.mark.parametrize("name", ["", 3, None, b"x"])
def test_a_name_is_a_non_empty_string(name: Any) -> None:
    with pytest.raises(TypeError, match="takes a name, a non-empty str"):
        rlscope.operation(name)
    with pytest.raises(TypeError, match="takes a name, a non-empty str"):
        rlscope.phase(name)


@pytest.mark.parametrize(
    ("name", "recorded"),
    [
        ("\N{ROBOT FACE} step", "\N{ROBOT FACE} step"),
        ("a\nb\tc\0d", "a\nb\tc\0d"),
        ("</script><b>", "</script><b>"),
        ("\ud800", "\\ud800"),
        ("x" * 10_000, "x" * 10_000),
        ("\N{ROBOT FACE}" * 20_000, "\N{ROBOT FACE}" * 16_383),
    ],
)
def test_any_name_is_recorded(name: str, recorded: str, in_process: Callable[[], Path]) -> None:
    with rlscope.operation(name), rlscope.phase(name):
        pass
    assert ("(none)", recorded) in operations_in(in_process())


def test_a_member_of_an_enumeration_is_a_name(in_process: Callable[[], Path]) -> None:
    class Stage(str, enum.Enum):
        INFERENCE = "inference"

    with rlscope.operation(Stage.INFERENCE):
        pass
    assert ("inference", "inference") in operations_in(in_process())


def test_a_hundred_thousand_names(in_process: Callable[[], Path]) -> None:
    for number in range(100_000):
        with rlscope.operation(f"operation {number}"):
            sum(range(20))  # longer than a tick
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"]["operation"] == 100_000
    assert len({row[2] for row in swept["breakdown"]}) == 100_001


def test_an_operation_that_another_thread_closes(in_process: Callable[[], Path]) -> None:
    operation = rlscope.operation("handed_over")
    operation.__enter__()
    thread = threading.Thread(target=operation.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with rlscope.operation("inner"):
        pass
    time.sleep(0.2)
    path = in_process()
    assert set(operations_in(path)) == {("(none)", "(none)"), ("(none)", "handed_over"), ("(none)", "inner")}
    rows = analyze(open_trace(path.parent)).breakdown
    assert sum(row.seconds for row in rows if row.operation == "handed_over") > 0.2, "it is open to the end"


def test_recursion(in_process: Callable[[], Path]) -> None:
    @rlscope.operation("recursive")
    def descend(depth: int) -> int:
        return 0 if depth == 0 else 1 + descend(depth - 1)

    assert descend(200) == 200
    assert vars(_analysis.sweep(str(in_process())))["misnested_operations"] == 0


def test_scopes_pickle_and_copy_to_themselves() -> None:
    for scope in (rlscope.operation("inference"), rlscope.phase("warm_up")):
        assert pickle.loads(pickle.dumps(scope)) is scope
        assert copy.deepcopy(scope) is scope


def test_every_thread_has_its_own_operations(in_process: Callable[[], Path]) -> None:
    def work() -> None:
        with rlscope.operation("worker"):
            pass

    with rlscope.operation("outer"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"]["operation"] == 2
    assert swept["misnested_operations"] == 0


def test_profile_records_one_block(tmp_path: Path) -> None:
    with rlscope.profile(tmp_path / "trace", process_name="trainer"):
        with rlscope.phase("data_collection"), rlscope.operation("inference"):
            pass
        rlscope.report_progress(timesteps=10, total_timesteps=100)
        rlscope.report_progress(timesteps=20, total_timesteps=100)
    (path,) = (tmp_path / "trace").glob("*.rlscope")
    swept = vars(_analysis.sweep(str(path)))
    assert not swept["why"]
    assert [training.iterations for training in swept["trainings"]] == [2]
    assert {row[0] for row in swept["breakdown"]} == {"(none)", "data_collection"}


def test_profile_refuses_a_second_trace_in_one_directory(tmp_path: Path) -> None:
    with rlscope.profile(tmp_path / "trace"):
        pass
    with pytest.raises(UsageError, match="holds a trace already"), rlscope.profile(tmp_path / "trace"):
        pass


def test_lines_are_looked_at_in_a_process_whose_devices_were_followed_before(tmp_path: Path) -> None:
    config = RecordConfig(layers=(), auto=False, stacks_hz=LINES_HZ)
    with rlscope.profile(tmp_path / "before"):
        pass
    os.close(begin_trace(tmp_path / "lines", config, command=None, is_forced=False))
    recorder.activate(tmp_path / "lines", config, {})
    try:
        with rlscope.operation("inference"):
            end_s = time.monotonic() + 0.2
            while time.monotonic() < end_s:
                sum(range(1000))
    finally:
        recorder.deactivate()
    assert any(row["stacks"] > 0 for row in analyze(open_trace(tmp_path / "lines")).lines.records())


def test_a_process_is_recorded_once(tmp_path: Path) -> None:
    with rlscope.profile(tmp_path / "trace"):
        with rlscope.profile(tmp_path / "other", process_name="renamed"):
            pass
        with pytest.raises(UsageError, match="already recorded"):
            recorder.activate(tmp_path / "third", recorder.active.config, {})  # type: ignore[union-attr]
    assert not (tmp_path / "other").exists()


def test_wrap_module_says_what_it_cannot_do(tmp_path: Path) -> None:
    with rlscope.profile(tmp_path / "trace"):
        assert rlscope.wrap_module(__import__("math"), category="simulator") > 40
        with pytest.raises(UsageError, match="no native functions"):
            rlscope.wrap_module(copy)
    with pytest.raises(UsageError, match="a category is one of python, simulator"):
        rlscope.wrap_module(__import__("math"), category="physics")


def test_a_recording_that_starts_later_begins_inside_open_operations(tmp_path: Path) -> None:
    _native.arm()
    with rlscope.operation("training_loop"):
        for _ in range(10000):
            with rlscope.operation("inference"):
                pass
        with rlscope.operation("simulation"):
            _native.start(tmp_path)
            path = Path(_native.trace_path())
            with rlscope.operation("reset"):
                pass
        with rlscope.operation("sample_batch"):
            pass
    _native.stop()
    swept = vars(_analysis.sweep(str(path)))
    assert {(row[1], row[2]) for row in swept["breakdown"] if row[2] != "(none)"} == {
        ("training_loop", "training_loop"),
        ("training_loop", "sample_batch"),
        ("simulation", "simulation"),
        ("simulation", "reset"),
    }
    assert swept["misnested_operations"] == 0


def test_a_callback_is_python_inside_a_native_call(in_process: Callable[[], Path]) -> None:
    _native.intercept(functools.reduce, "_functools.reduce", 2)
    callback = _native.callback("called_back")

    def add(left: int, right: int) -> int:
        with callback, rlscope.operation("inside"):
            return left + right

    assert functools.reduce(add, range(10)) == 45
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["crossings"] == {"_functools.reduce": 1, "called_back": 9}
    assert {(row[2], row[3]) for row in swept["breakdown"]} >= {("inside", "python"), ("(none)", "backend")}
    transitions = {(from_, to): count for _, _, from_, to, count in swept["transitions"]}
    assert transitions == {("python", "backend"): 1, ("backend", "python"): 9}


def test_a_call_of_a_simulator_that_no_function_pointer_is_of(in_process: Callable[[], Path]) -> None:
    with _native.operation("simulation"), _native.simulator_call("warp.advance"):
        pass
    swept = _analysis.sweep(str(in_process()))
    assert swept.crossings == {"warp.advance": 1}
    assert (swept.events["simulator"], swept.misnested_operations) == (1, 0)
