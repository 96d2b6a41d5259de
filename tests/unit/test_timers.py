"""Timers as operations: functions, methods and classes that are given a name, as context managers and as decorators."""

import asyncio
import contextlib
import pickle
import sys
import types
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rlscope import _analysis
from rlscope.record.declared.hooks import Hooks
from rlscope.record.declared.kinds import TimerHook

OPERATIONS = {"generation": ("inference", "generate"), "training": ("backpropagation",), "step": ("step",)}
SHARED = contextlib.nullcontext("shared")


@contextlib.contextmanager
def timer(name: str, seconds: dict[str, float] | None = None) -> Iterator[str]:
    """Is written as most timers are."""
    yield name


def shared(count: int, *, name: str) -> contextlib.nullcontext[str]:
    """Returns the same object for all names, as a profiler does that is switched off."""
    return SHARED


def decorating(name: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    return lambda function: lambda: f"{name} {function()}"


def wrong(name: str) -> str:
    return name


class Timer(contextlib.ContextDecorator):
    """Is a context manager for both kinds of `with`, and equal to others, so that it has no hash."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timer)

    def __enter__(self) -> "Timer":
        self.caller = sys._getframe(1).f_code.co_name
        return self

    def __exit__(self, *error: object) -> None: ...

    async def __aenter__(self) -> "Timer":
        return self

    async def __aexit__(self, *error: object) -> None: ...

    @contextlib.contextmanager
    def time(self, name: str) -> Iterator[None]:
        yield

    @staticmethod
    def measure(name: str) -> contextlib.nullcontext[str]:
        return SHARED


class Loud(Timer):
    def __init__(self, message: str) -> None:
        super().__init__(message)

    def __enter__(self) -> "Loud":
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)


@pytest.fixture
def recorded(in_process: Callable[[], Path]) -> Iterator[Callable[[], dict[str, Any]]]:
    """All timers of this file are followed; called, it ends the recording and gives what is in it."""
    module = sys.modules[__name__]
    before = {name: vars(module)[name] for name in ("timer", "shared", "decorating", "wrong")}
    methods = dict(vars(Timer)) | dict(vars(Loud))
    hooks = Hooks()
    for path in (*((name,) for name in before), ("Timer",), ("Timer", "time"), ("Timer", "measure"), ("missing",)):
        hooks.apply(TimerHook(__name__, path, OPERATIONS), module)
    yield lambda: vars(_analysis.sweep(str(in_process())))
    hooks.restore()
    assert {name: vars(module)[name] for name in before} == before
    assert dict(vars(Timer)) | dict(vars(Loud)) == methods


def operations(swept: dict[str, Any]) -> set[tuple[str, str]]:
    """Stages and operations that took time; `inference` itself has the moments around `generate`."""
    assert swept["misnested_operations"] == 0
    return {(row[1], row[2]) for row in swept["breakdown"]} - {("(none)", "(none)"), ("inference", "inference")}


def burn() -> str:
    return str(sum(range(20000)))


def test_a_function_that_returns_context_managers(recorded: Callable[[], dict[str, Any]]) -> None:
    seconds: dict[str, float] = {}
    with timer("step"), timer("unlisted", seconds) as unlisted:
        with timer("generation", seconds) as name:
            burn()
        assert (name, unlisted) == ("generation", "unlisted")
    with contextlib.ExitStack() as stack:
        entered = stack.enter_context(shared(1, name="training"))
        burn()
    assert entered == "shared"
    with shared(1, name="other"):
        burn()
    swept = recorded()
    assert operations(swept) == {("(none)", "step"), ("inference", "generate"), ("backpropagation", "backpropagation")}
    assert swept["events"]["operation"] == 4  # step, inference, generate, backpropagation


def test_what_is_returned_is_like_the_original(recorded: Callable[[], dict[str, Any]]) -> None:
    made = timer("generation")
    assert isinstance(made, contextlib.AbstractContextManager)
    assert isinstance(shared(1, name="training"), contextlib.nullcontext)
    assert shared(1, name="training").enter_result == "shared"
    assert type(pickle.loads(pickle.dumps(shared(1, name="training")))) is contextlib.nullcontext
    assert wrong("generation") == "generation"
    assert (timer.__name__, timer.__wrapped__.__module__) == ("timer", __name__)  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        timer()  # type: ignore[call-arg]
    with pytest.raises(KeyError), timer("generation"):
        raise KeyError
    recorded()


def test_decorators(recorded: Callable[[], dict[str, Any]]) -> None:
    assert timer("generation")(burn)() == burn()
    assert decorating("training")(burn)() == f"training {burn()}"
    assert Timer("step")(burn)() == burn()
    swept = recorded()
    assert operations(swept) == {("(none)", "step"), ("inference", "generate"), ("backpropagation", "backpropagation")}


@pytest.mark.parametrize("kind", [Timer, Loud])
def test_a_class_whose_objects_are_timers(kind: type[Timer], recorded: Callable[[], dict[str, Any]]) -> None:
    with kind("unlisted"), kind("generation") as entered:
        burn()
    assert type(entered) is kind and entered.message == "generation"
    assert entered.caller == (
        "__enter__" if kind is Loud else "test_a_class_whose_objects_are_timers"
    )  # no frame of ours
    with entered:  # once more
        burn()
    swept = recorded()
    assert operations(swept) == {("inference", "generate")}
    assert swept["events"]["operation"] == 4


def test_methods_static_ones_too(recorded: Callable[[], dict[str, Any]]) -> None:
    with Timer("unlisted").time("generation"):
        burn()
    with Timer.measure("training"), Loud("unlisted").measure("unlisted"):
        burn()
    assert operations(recorded()) == {("inference", "generate"), ("backpropagation", "backpropagation")}


@contextlib.asynccontextmanager
async def later() -> AsyncIterator[None]:
    await asyncio.sleep(0)
    yield


def test_a_block_in_a_task_is_closed_while_others_run(recorded: Callable[[], dict[str, Any]]) -> None:
    async def generate() -> None:
        async with Timer("generation"), later():
            burn()
            await asyncio.sleep(0.01)

    async def train() -> None:
        with timer("training"):
            burn()
            await asyncio.sleep(0.01)

    async def main() -> None:
        await asyncio.gather(generate(), train(), generate(), train())

    asyncio.run(main())
    swept = recorded()
    assert operations(swept) == {("inference", "generate"), ("backpropagation", "backpropagation")}
    # Two of each, and each of them with an elapsed time of its own: they were suspended.
    assert {name: count for name, count, *_ in swept["tasks"]} == {"inference": 2, "generate": 2, "backpropagation": 2}


def test_a_name_that_a_library_no_longer_has_is_left_out() -> None:
    hooks = Hooks()
    empty = types.ModuleType("empty")
    for path in (("gone",), ("Gone", "time")):
        hooks.apply(TimerHook("empty", path, OPERATIONS), empty)
    assert "gone" not in vars(empty)
