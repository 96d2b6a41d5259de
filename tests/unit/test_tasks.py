"""Operations of coroutines and generators: they have the time in which these run, held against stopwatches."""

import asyncio
import contextlib
import gc
import inspect
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import rlscope
from rlscope import _analysis, _native
from rlscope.record.declared.decorator import scoped
from rlscope.trace.clock import clock_id, make_clocks
from rlscope.trace.format import FileHeader

WORK_S = 0.03
PAUSE_S = 0.25

#: By how much a recorded time may differ from its stopwatch: the machine has other work. Time that counts for the wrong
#: operation is a pause or more.
MOST_S = 0.12

expected: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def stopwatches() -> None:
    expected.clear()


def work(name: str) -> None:
    """Runs for a while; so long is what the operation should have."""
    started = time.monotonic()
    while time.monotonic() - started < WORK_S:
        pass
    expected[name] += time.monotonic() - started  # type: ignore[assignment]


def swept(path: Path) -> dict[str, Any]:
    """What the sweep found, with the seconds of each operation and the tasks by name."""
    found: dict[str, Any] = dict(vars(_analysis.sweep(path)))
    header = FileHeader.unpack(path.read_bytes())
    clock = make_clocks([header])[clock_id(header)]

    def seconds(ticks: int) -> float:
        return clock.ns_per_denominator * ticks / clock.denominator / 1e9

    found["seconds"] = Counter()
    for row in found["breakdown"]:
        found["seconds"][row.operation] += seconds(row.ticks)
    found["tasks"] = {name: (count, *map(seconds, times)) for name, count, *times in found["tasks"]}
    return found


def check(path: Path, misnested: int = 0) -> dict[str, Any]:
    """Every operation has what its stopwatches say, but for what the machine did beside."""
    found = swept(path)
    assert not found["why"]
    assert found["misnested_operations"] == misnested
    for name, seconds in expected.items():
        assert found["seconds"][name] == pytest.approx(seconds, rel=0.1, abs=MOST_S), name
    return found


def test_coroutines_that_take_turns(in_process: Callable[[], Path]) -> None:
    async def agent() -> None:
        with rlscope.operation("inference"):
            work("inference")
            await asyncio.sleep(PAUSE_S)
            work("inference")

    async def both() -> None:
        await asyncio.gather(agent(), agent())

    asyncio.run(both())
    found = check(in_process())
    count, running_s, elapsed_s, median_s, p99_s, longest_s = found["tasks"]["inference"]
    assert count == 2
    assert running_s == pytest.approx(expected["inference"], rel=0.1, abs=MOST_S)
    assert 2 * PAUSE_S + running_s <= elapsed_s <= 2 * longest_s
    assert PAUSE_S < median_s <= p99_s <= longest_s


def test_an_operation_that_was_never_suspended_is_no_task(in_process: Callable[[], Path]) -> None:
    async def agent() -> None:
        with rlscope.operation("inference"):
            work("inference")
        await asyncio.sleep(0)

    asyncio.run(agent())
    assert check(in_process())["tasks"] == {}


def test_operations_inside_one_coroutine(in_process: Callable[[], Path]) -> None:
    async def tool() -> None:
        with rlscope.operation("tool"):
            work("tool")
            await asyncio.sleep(PAUSE_S)
            work("tool")

    async def agent() -> None:
        with rlscope.operation("episode"):
            work("episode")
            with rlscope.operation("turn"):
                await tool()
                work("turn")
            with rlscope.operation("plain"):
                work("plain")
            work("episode")

    async def both() -> None:
        await asyncio.gather(agent(), agent())

    asyncio.run(both())
    found = check(in_process())
    assert {name: row[0] for name, row in found["tasks"].items()} == {"episode": 2, "turn": 2, "tool": 2}
    _, running_s, *_ = found["tasks"]["episode"]
    assert running_s == pytest.approx(sum(expected.values()), rel=0.1, abs=MOST_S), "with the operations inside"


@rlscope.operation("decorated")
async def decorated() -> int:
    """Waits."""
    work("decorated")
    await asyncio.sleep(PAUSE_S)
    return 3


@rlscope.operation("generator")
def generator(start: int) -> Generator[int, int, str]:
    work("generator")
    sent = yield start
    work("generator")
    yield sent
    return "end"


@rlscope.operation("asynchronous")
async def asynchronous() -> AsyncIterator[int]:
    try:
        work("asynchronous")
        sent = yield 1
        await asyncio.sleep(PAUSE_S)
        work("asynchronous")
        yield sent
    except KeyError:
        yield 10


@rlscope.operation("by_types")
@types.coroutine
def by_types() -> Generator[Any, None, int]:
    work("by_types")
    yield from asyncio.sleep(PAUSE_S).__await__()
    return 4


def test_decorated_functions_stay_of_their_kind() -> None:
    assert inspect.iscoroutinefunction(decorated)
    assert inspect.isgeneratorfunction(generator)
    assert inspect.isasyncgenfunction(asynchronous)
    assert decorated.__name__ == "decorated"
    assert decorated.__doc__ == "Waits."
    coroutine = decorated()
    assert inspect.iscoroutine(coroutine)
    assert asyncio.iscoroutine(coroutine)
    coroutine.close()
    assert inspect.isgenerator(generator(0))
    assert inspect.isasyncgen(asynchronous())


def test_decorated_functions(in_process: Callable[[], Path]) -> None:
    async def main() -> list[Any]:
        results: list[Any] = list(await asyncio.gather(decorated(), decorated()))
        results.append(await by_types())
        running = asynchronous()
        results.append(await running.__anext__())
        results.append(await running.asend(5))  # type: ignore[attr-defined]
        results.append(await running.athrow(KeyError()))  # type: ignore[attr-defined]
        await running.aclose()  # type: ignore[attr-defined]
        return results

    assert asyncio.run(main()) == [3, 3, 4, 1, 5, 10]
    steps = generator(1)
    assert next(steps) == 1
    time.sleep(PAUSE_S)
    assert steps.send(7) == 7
    time.sleep(PAUSE_S)
    with pytest.raises(StopIteration, match="end"):
        next(steps)
    found = check(in_process())
    assert {name: row[0] for name, row in found["tasks"].items()} == {
        "decorated": 2, "by_types": 1, "asynchronous": 1, "generator": 1,
    }  # fmt: skip


def test_a_named_coroutine_function_may_be_two_operations(in_process: Callable[[], Path]) -> None:
    async def step() -> int:
        """One that a user has named."""
        work("step")
        await asyncio.sleep(PAUSE_S)
        return 3

    hooked = scoped(step, rlscope.operation("simulation"), rlscope.operation("step"))
    assert inspect.iscoroutinefunction(hooked)

    async def both() -> list[int]:
        return list(await asyncio.gather(hooked(), hooked()))

    assert asyncio.run(both()) == [3, 3]
    found = check(in_process())
    assert {row[1:3] for row in found["breakdown"]} >= {("simulation", "step")}


def test_an_exception_passes_through_a_decorated_generator(in_process: Callable[[], Path]) -> None:
    steps = generator(1)
    next(steps)
    with pytest.raises(KeyError):
        steps.throw(KeyError())
    assert check(in_process())["events"]["operation"] == 2  # opened, and once more to be told


def test_what_consumes_a_generator_is_not_in_its_operation(in_process: Callable[[], Path]) -> None:
    def rollout() -> Iterator[int]:
        with rlscope.operation("simulation"):
            for step in range(3):
                work("simulation")
                yield step

    for _ in rollout():
        with rlscope.operation("inference"):
            work("inference")
    assert sum(rollout()) == 3
    values = rollout()
    assert [values.__next__(), *values] == [0, 1, 2]
    check(in_process())


def test_asynchronous_generators(in_process: Callable[[], Path]) -> None:
    async def rollout() -> AsyncIterator[int]:
        with rlscope.operation("simulation"):
            for step in range(2):
                work("simulation")
                await asyncio.sleep(PAUSE_S)
                yield step

    async def agent() -> None:
        with rlscope.operation("episode"):
            async for _ in rollout():
                work("episode")
                await asyncio.sleep(PAUSE_S)

    async def both() -> None:
        await asyncio.gather(agent(), agent())

    asyncio.run(both())
    check(in_process())


def test_the_body_of_a_context_manager_is_in_its_operation(in_process: Callable[[], Path]) -> None:
    @contextlib.contextmanager
    def stage(name: str) -> Iterator[None]:
        with rlscope.operation(name):
            yield

    @contextlib.asynccontextmanager
    async def slow_stage() -> AsyncIterator[None]:
        with rlscope.operation("slow"):
            await asyncio.sleep(PAUSE_S)
            yield

    async def agent() -> None:
        with stage("quick"):
            work("quick")
            await asyncio.sleep(PAUSE_S)
            work("quick")
        async with slow_stage():
            work("slow")
            await asyncio.sleep(PAUSE_S)
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(rlscope.operation("stacked"))
            await stack.enter_async_context(slow_stage())
            work("slow")
            await asyncio.sleep(PAUSE_S)

    async def both() -> None:
        await asyncio.gather(agent(), agent())

    with stage("plain"):
        work("plain")
        with contextlib.ExitStack() as stack:
            stack.enter_context(stage("stacked"))
            work("stacked")
    asyncio.run(both())
    check(in_process())


def test_a_fixture_of_pytest_stays_open_for_the_test(
    in_process: Callable[[], Path], request: pytest.FixtureRequest
) -> None:
    from _pytest.fixtures import call_fixture_func

    def fixture() -> Iterator[int]:
        with rlscope.operation("fixture"):
            yield 1

    assert call_fixture_func(fixture, request, {}) == 1  # type: ignore[arg-type]
    work("fixture")
    found = check(in_process())
    assert found["tasks"] == {}


def test_a_generator_that_is_closed_elsewhere(in_process: Callable[[], Path]) -> None:
    def steps() -> Iterator[int]:
        with rlscope.operation("generator"):
            work("generator")
            try:
                yield 1
            finally:
                work("generator")

    with rlscope.operation("outer"):
        closed, dropped, handed_over = steps(), steps(), steps()
        for running in (closed, dropped, handed_over):
            next(running)
        work("outer")
    with rlscope.operation("after"):
        closed.close()  # type: ignore[attr-defined]
        work("after")
    with rlscope.operation("collected"):
        del running, dropped
        gc.collect()
    with rlscope.operation("waiting"):
        thread = threading.Thread(target=list, args=(handed_over,))
        thread.start()
        thread.join()
    found = check_threads(in_process())
    assert found["tasks"]["generator"][0] == 3


def check_threads(path: Path) -> dict[str, Any]:
    """As `check`: threads that run at the same time have the same time, so each has its own view."""
    found = swept(path)
    found["threads"] = vars(_analysis.sweep(path, by_thread=True))["threads"]
    own: Counter[str] = Counter()
    for row in found["threads"]:
        own[row.operation] += row.ticks
    whole = sum(row.ticks for row in found["breakdown"])
    per_tick = sum(found["seconds"].values()) / whole
    for name, seconds in expected.items():
        assert own[name] * per_tick == pytest.approx(seconds, rel=0.1, abs=MOST_S), name
    assert found["misnested_operations"] == 0
    return found


def test_cancellation_and_exceptions(in_process: Callable[[], Path]) -> None:
    async def tool() -> None:
        with rlscope.operation("tool"):
            try:
                await asyncio.sleep(60)
            finally:
                work("tool")
                await asyncio.sleep(PAUSE_S)
                work("tool")

    async def agent() -> None:
        with rlscope.operation("agent"):
            try:
                await tool()
            except asyncio.CancelledError:
                work("agent")
                raise

    async def failing() -> None:
        with rlscope.operation("failing"):
            await asyncio.sleep(PAUSE_S)
            work("failing")
            raise KeyError("failed")

    async def main() -> None:
        tasks = [asyncio.create_task(agent()), asyncio.create_task(agent()), asyncio.create_task(failing())]
        await asyncio.sleep(PAUSE_S / 2)
        for task in tasks[:2]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results] == [asyncio.CancelledError, asyncio.CancelledError, KeyError]

    asyncio.run(main())
    found = check(in_process())
    assert {name: row[0] for name, row in found["tasks"].items()} == {"tool": 2, "agent": 2, "failing": 1}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="task groups came with Python 3.11")
def test_a_group_of_tasks(in_process: Callable[[], Path]) -> None:
    async def agent() -> None:
        with rlscope.operation("agent"):
            work("agent")
            await asyncio.sleep(PAUSE_S)

    async def main() -> None:
        with rlscope.operation("group"):
            async with asyncio.TaskGroup() as group:
                for _ in range(3):
                    group.create_task(agent())
            work("group")

    asyncio.run(main())
    check(in_process())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with Python 3.12")
def test_eager_tasks(in_process: Callable[[], Path]) -> None:
    async def agent(name: str) -> None:
        with rlscope.operation(name):
            work(name)
            await asyncio.sleep(PAUSE_S)
            work(name)

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        with rlscope.operation("outer"):
            tasks = [asyncio.create_task(agent(name)) for name in ("inner", "outer", "outer")]
            work("outer")
        work("(none)")
        await asyncio.gather(*tasks)

    asyncio.run(main())
    expected.pop("(none)")
    check(in_process())


def test_a_loop_that_drives_coroutines_by_their_methods(in_process: Callable[[], Path]) -> None:
    class Pause:
        def __await__(self) -> Iterator[None]:
            yield

    class Wrapped:
        def __init__(self, coroutine: Any) -> None:
            self.coroutine = coroutine

        def __await__(self) -> Iterator[None]:
            return self.coroutine.__await__()  # type: ignore[no-any-return]

    async def step() -> None:
        with rlscope.operation("step"):
            work("step")
            await Pause()
            work("step")

    async def agent() -> None:
        with rlscope.operation("agent"):
            work("agent")
            await Wrapped(step())

    running = [agent(), agent()]
    while running:
        for coroutine in list(running):
            try:
                coroutine.send(None)
            except StopIteration:
                running.remove(coroutine)
            time.sleep(PAUSE_S / 4)
    check(in_process())


def test_tasks_that_are_open_where_the_recording_stops(in_process: Callable[[], Path]) -> None:
    paths = []

    async def agent(stops: bool) -> None:
        with rlscope.operation("agent"):
            await asyncio.sleep(PAUSE_S * (1 + stops))
            work("agent")
            if stops:
                paths.append(in_process())
            await asyncio.sleep(PAUSE_S)

    async def both() -> None:
        waiting = asyncio.create_task(asyncio.sleep(0))
        await asyncio.gather(agent(False), agent(True), waiting)

    asyncio.run(both())
    found = check(paths[0])
    count, running_s, elapsed_s, *_ = found["tasks"]["agent"]
    assert count == 2
    assert running_s == pytest.approx(expected["agent"], rel=0.1, abs=MOST_S)
    assert elapsed_s > 2 * PAUSE_S


def test_what_a_coroutine_leaves_open_is_its_threads(in_process: Callable[[], Path]) -> None:
    left_open = rlscope.operation("left_open")

    async def start() -> None:
        left_open.__enter__()

    async def pausing() -> None:
        with rlscope.operation("pausing"):
            await asyncio.sleep(PAUSE_S)

    async def main() -> None:
        await start()
        for _ in range(3):  # one of these may be where the first coroutine was
            await pausing()
        left_open.__exit__(None, None, None)

    asyncio.run(main())
    found = check(in_process())
    assert found["seconds"]["left_open"] + found["seconds"]["pausing"] >= 3 * PAUSE_S
    assert found["seconds"]["left_open"] >= 2 * PAUSE_S


def test_recordings_one_after_the_other(tmp_path: Path) -> None:
    async def agent() -> None:
        with rlscope.operation("agent"):
            await asyncio.sleep(PAUSE_S)
            work("agent")

    async def both() -> None:
        await asyncio.gather(agent(), agent())

    for name in ("first", "second"):
        expected.clear()
        (tmp_path / name).mkdir()
        _native.start(tmp_path / name)
        path = Path(_native.trace_path())
        asyncio.run(both())
        _native.stop()
        assert check(path)["tasks"]["agent"][0] == 2
    asyncio.run(both())  # nothing records


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no sys.monitoring before Python 3.12")
def test_no_id_is_left_of_sys_monitoring(in_process: Callable[[], Path], capfd: pytest.CaptureFixture[str]) -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined]
    taken = [tool for tool in range(6) if monitoring.get_tool(tool) is None]
    for tool in taken:
        monitoring.use_tool_id(tool, "another")
    try:
        next(generator(1))
        next(generator(1))
    finally:
        for tool in taken:
            monitoring.free_tool_id(tool)
    in_process()
    assert capfd.readouterr().err.count("coroutines are not followed") == 1
