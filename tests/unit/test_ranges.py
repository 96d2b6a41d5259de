"""NVTX ranges and record_function blocks as operations: nested, misnested, on threads, and PyTorch's own left out."""

import contextlib
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import record_function

import rlscope
from rlscope import _analysis
from rlscope.libraries import ranges
from rlscope.record.declared.hooks import Hooks


class Nvtx:
    """Stands for the native module of PyTorch's builds for CUDA, as far as ranges matter."""

    def __init__(self) -> None:
        self.depth = 0
        self.rangePushA = self._push
        self.rangePop = self._pop

    def _push(self, message: str) -> int:
        self.depth += 1
        return self.depth - 1

    def _pop(self) -> int:
        self.depth -= 1
        return self.depth


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, in_process: Callable[[], Path]) -> Iterator[Callable[[], dict[str, Any]]]:
    """The ranges are followed; called, it ends the recording and gives what is in it."""
    monkeypatch.setattr(torch.cuda.nvtx, "_nvtx", Nvtx())
    monkeypatch.setattr(ranges, "_scopes", {})
    hooks = Hooks()
    for hook in ranges.HOOKS:
        if hook.module in sys.modules:
            hooks.apply(hook, sys.modules[hook.module])
    yield lambda: vars(_analysis.sweep(str(in_process())))
    hooks.restore()
    assert ranges._ranges.open == []


def operations(swept: dict[str, Any]) -> list[tuple[str, str]]:
    """Stages and operations that are in the breakdown."""
    return sorted({(row[1], row[2]) for row in swept["breakdown"]} - {("(none)", "(none)")})


def test_ranges_and_blocks_are_operations_of_their_names(recorded: Callable[[], dict[str, Any]]) -> None:
    @record_function("decorated")
    def decorated(value: int) -> int:
        return value

    nvtx = torch.cuda.nvtx
    assert nvtx.range_push("inference") == 0
    with record_function("act"):
        assert decorated(3) == 3
    assert nvtx.range_pop() == 0
    with nvtx.range("turn {}", 1), contextlib.ExitStack() as stack:
        stack.enter_context(record_function("stacked"))
    swept = recorded()
    assert operations(swept) == [
        ("(none)", "stacked"), ("(none)", "turn 1"), ("inference", "act"), ("inference", "decorated"),
        ("inference", "inference"),
    ]  # fmt: skip
    assert swept["misnested_operations"] == 0


def test_pytorchs_own_blocks_are_left_out(recorded: Callable[[], dict[str, Any]]) -> None:
    network = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    network(torch.ones(2)).sum().backward()
    optimizer.step()
    for _ in torch.utils.data.DataLoader([1, 2]):  # type: ignore[arg-type]
        pass
    with record_function("mine"):
        optimizer.zero_grad()
    assert operations(recorded()) == [("(none)", "mine")]


def test_a_range_that_ends_early_closes_no_operation_of_the_users(recorded: Callable[[], dict[str, Any]]) -> None:
    torch.cuda.nvtx.range_push("early")
    with rlscope.operation("mine"):
        torch.cuda.nvtx.range_pop()
        with record_function("inside"):
            pass
    with record_function("later"):
        pass
    swept = recorded()
    assert operations(swept) == [("(none)", name) for name in ("early", "inside", "later", "mine")]
    assert swept["events"]["operation"] == 4  # `mine` was closed once, by itself
    assert swept["misnested_operations"] == 1


def test_a_range_whose_operation_has_ended_ends_nothing_else(recorded: Callable[[], dict[str, Any]]) -> None:
    with rlscope.operation("twice"):
        with rlscope.operation("mine"):
            torch.cuda.nvtx.range_push("twice")
        torch.cuda.nvtx.range_pop()  # not the operation of the same name
        with rlscope.operation("inner"):
            pass
    swept = recorded()
    assert swept["events"]["operation"] == 4
    assert swept["misnested_operations"] == 1


def test_pops_without_a_push_are_counted(recorded: Callable[[], dict[str, Any]]) -> None:
    with rlscope.operation("mine"):
        torch.cuda.nvtx.range_pop()
        with record_function("inside"):
            torch.cuda.nvtx.range_pop()
    swept = recorded()
    assert swept["events"]["operation"] == 2
    assert swept["misnested_operations"] == 2


def test_a_push_and_its_pop_on_two_threads(recorded: Callable[[], dict[str, Any]]) -> None:
    def push() -> None:
        torch.cuda.nvtx.range_push("elsewhere")

    thread = threading.Thread(target=push)
    thread.start()
    thread.join()
    with rlscope.operation("mine"):
        torch.cuda.nvtx.range_pop()
    swept = recorded()
    assert swept["events"]["operation"] == 2
    assert swept["misnested_operations"] >= 1


def test_blocks_that_overlap(recorded: Callable[[], dict[str, Any]]) -> None:
    first, second = record_function("first"), record_function("second")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    with record_function("after"):
        pass
    swept = recorded()
    assert swept["events"]["operation"] == 3
    assert swept["misnested_operations"] == 1


def test_a_program_that_numbers_its_ranges_does_not_fill_the_trace_with_names(
    recorded: Callable[[], dict[str, Any]],
) -> None:
    for step in range(ranges.MOST_NAMES + 10):
        with record_function(f"step {step}"):
            pass
    swept = recorded()
    assert swept["events"]["operation"] == ranges.MOST_NAMES + 10
    assert len(operations(swept)) <= ranges.MOST_NAMES + 1
    assert ("(none)", ranges.OTHER_NAME) in operations(swept)


def test_a_program_that_never_pops(recorded: Callable[[], dict[str, Any]]) -> None:
    with rlscope.operation("mine"):
        for _ in range(2 * ranges.MOST_OPEN):
            torch.cuda.nvtx.range_push("open")
    for _ in range(2 * ranges.MOST_OPEN):
        torch.cuda.nvtx.range_pop()
    assert recorded()["events"]["operation"] == ranges.MOST_OPEN + 1


@pytest.mark.parametrize("is_fullgraph", [True, False])
def test_compiled_functions_stay_one_graph(recorded: Callable[[], dict[str, Any]], is_fullgraph: bool) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        with record_function("compiled"):
            return x.sin()

    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=is_fullgraph, backend="eager")
    with record_function("around"):
        assert torch.equal(compiled(torch.ones(2)), torch.ones(2).sin())
    swept = recorded()
    assert ("(none)", "around") in operations(swept)
    assert swept["misnested_operations"] == 0


def test_scripted_functions_still_compile(recorded: Callable[[], dict[str, Any]]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.autograd.profiler.record_function("scripted"):
            return x.sin()

    assert torch.equal(torch.jit.script(function)(torch.ones(2)), torch.ones(2).sin())
    recorded()


def test_the_profiler_still_sees_the_blocks(recorded: Callable[[], dict[str, Any]]) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile, record_function("both"):
        torch.ones(2)
    assert "both" in {event.key for event in profile.key_averages()}
    assert ("(none)", "both") in operations(recorded())


def test_a_build_without_nvtx_says_so_itself(in_process: Callable[[], Path]) -> None:
    if not isinstance(torch.cuda.nvtx._nvtx, types.ModuleType):
        hooks = Hooks()
        for hook in ranges.HOOKS:
            if hook.module == "torch.cuda.nvtx":
                hooks.apply(hook, torch.cuda.nvtx)
        with pytest.raises(RuntimeError, match="NVTX functions not installed"):
            torch.cuda.nvtx.range_push("x")
        hooks.restore()
    in_process()


def test_the_package_nvtx(recorded: Callable[[], dict[str, Any]]) -> None:
    nvtx = pytest.importorskip("nvtx")
    hooks = Hooks()
    for hook in ranges.HOOKS:
        if hook.module == "nvtx.nvtx":
            hooks.apply(hook, sys.modules["nvtx.nvtx"])

    @sys.modules["nvtx.nvtx"].annotate("decorated")
    def decorated(value: int) -> int:
        return value

    module = sys.modules["nvtx.nvtx"]
    with nvtx.annotate("simulation", color="red"):
        assert decorated(3) == 3
    module.push_range("outer", domain="a")
    module.push_range("inner")
    module.pop_range("a")  # each domain has ranges of its own: `outer` ends with `inner`
    module.pop_range()
    module.pop_range()
    hooks.restore()
    swept = recorded()
    assert operations(swept) == [
        ("(none)", "inner"), ("(none)", "outer"), ("simulation", "decorated"), ("simulation", "simulation"),
    ]  # fmt: skip
    assert swept["misnested_operations"] == 2
