"""Profilers that a program uses on itself get CUPTI before they take it, and we get it back once they have stopped."""

import gc
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from rlscope import _native
from rlscope.libraries import jax as jax_library
from rlscope.libraries import torch as torch_library
from rlscope.record.declared.code_lifetime import CodeLifetime
from rlscope.record.declared.cupti_lending import CuptiLending
from rlscope.record.declared.kinds import ProfilerHook
from rlscope.record.replacements import Replacements

TORCH = sys.modules["torch.autograd.profiler"]
(OF_TORCH,) = (hook for hook in torch_library.HOOKS if isinstance(hook, ProfilerHook))
(OF_JAX,) = (hook for hook in jax_library.HOOKS if isinstance(hook, ProfilerHook))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was called, in order."""
    calls: list[str] = []
    monkeypatch.setattr(_native, "release_cupti", lambda holder: calls.append(f"release to {holder}"))
    monkeypatch.setattr(_native, "reattach_cupti", lambda: calls.append("reattach"))
    return calls


@pytest.fixture
def replacements() -> Iterator[Replacements]:
    replacements = Replacements()
    yield replacements
    replacements.restore()


@pytest.fixture
def lending(replacements: Replacements) -> CuptiLending:
    return CuptiLending(replacements)


@pytest.fixture
def followed_torch(calls: list[str], lending: CuptiLending, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The real profiler of PyTorch, hooked, whose own calls are in the list as well."""
    for name in ("_prepare_profiler", "_enable_profiler", "_disable_profiler"):
        monkeypatch.setattr(TORCH, name, following(calls, name, vars(TORCH)[name]))
    for module in OF_TORCH.modules:
        lending.lend(sys.modules[module], OF_TORCH)
    return calls


def following(calls: list[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def followed(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return function(*args, **kwargs)

    return followed


RECORDING = ["release to torch.profiler", "_prepare_profiler", "_enable_profiler", "_disable_profiler", "reattach"]


def test_torch_has_cupti_from_prepare_to_disable(followed_torch: list[str]) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        torch.ones(2)
    assert followed_torch == RECORDING


def test_torch_gives_it_back_between_the_rounds_of_a_schedule(followed_torch: list[str]) -> None:
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=2)
    with torch.profiler.profile(schedule=schedule) as profiler:
        for _ in range(7):
            profiler.step()
    assert followed_torch == RECORDING * 2


def test_torch_gives_it_back_after_an_error_in_the_block(followed_torch: list[str]) -> None:
    with pytest.raises(ValueError, match="mine"), torch.autograd.profiler.profile():
        raise ValueError("mine")
    assert followed_torch == RECORDING


def test_torch_gives_it_back_if_it_could_not_prepare(
    calls: list[str], lending: CuptiLending, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        calls.append("fail")
        raise RuntimeError("no profiling today")

    monkeypatch.setattr(TORCH, "_prepare_profiler", fail)
    lending.lend(TORCH, OF_TORCH)
    with pytest.raises(RuntimeError, match="no profiling today"), torch.profiler.profile():
        pass
    assert calls == ["release to torch.profiler", "fail", "reattach"]


def test_of_profilers_inside_each_other_the_first_to_stop_gives_it_back(followed_torch: list[str]) -> None:
    with torch.profiler.profile(), torch.profiler.profile():  # PyTorch has one session, which the inner one ends
        pass
    assert followed_torch.count("release to torch.profiler") == followed_torch.count("reattach") == 1
    assert followed_torch[0] == "release to torch.profiler"
    assert followed_torch.index("reattach") == followed_torch.index("_disable_profiler") + 1


def test_ranges_for_another_tool_take_nothing(followed_torch: list[str]) -> None:
    with torch.autograd.profiler.emit_itt():
        torch.ones(2)
    assert followed_torch == ["_enable_profiler", "_disable_profiler"]


def test_everything_is_put_back(followed_torch: list[str], replacements: Replacements) -> None:
    replaced = vars(TORCH)["_prepare_profiler"]
    replacements.restore()
    assert vars(TORCH)["_prepare_profiler"] is replaced.__wrapped__
    assert vars(TORCH)["_run_on_profiler_stop"].__module__ == "torch.autograd.profiler"


def test_code_lives_as_long_as_results_that_point_to_its_names(replacements: Replacements) -> None:
    CodeLifetime(replacements).follow(TORCH, OF_TORCH)
    first, second = profiled_code(), profiled_code()
    assert [code() is not None for _, *codes in (first, second) for code in codes] == [True, False] * 2
    first[0] = None
    gc.collect()  # they hold themselves
    assert first[1]() is None
    assert second[1]() is not None


def profiled_code() -> list[Any]:
    """Results of a profiler, and two weak references: to code that ran meanwhile, and to code that ran afterwards."""
    with torch.autograd.profiler.profile() as results:
        code = executed()
    return [results, code, executed()]


def executed() -> "weakref.ref[types.CodeType]":
    code = compile("1", "text", "exec")
    exec(code)
    return weakref.ref(code)


def test_a_version_without_the_end_is_left_alone(calls: list[str], lending: CuptiLending) -> None:
    module = types.ModuleType("torch.autograd.profiler")
    module._prepare_profiler = prepare = lambda: None  # type: ignore[attr-defined]
    lending.lend(module, OF_TORCH)
    assert vars(module)["_prepare_profiler"] is prepare


class Jax:
    """The two modules of jax that make up its profiler, as far as they matter here."""

    def __init__(self, calls: list[str]) -> None:
        self.is_running = False
        self.inner = types.ModuleType("jax._src.profiler")
        inner = self.inner.__dict__

        def start_trace(directory: str) -> None:
            if self.is_running:
                raise RuntimeError("Profile has already been started")
            self.is_running = True
            calls.append("start")

        def stop_trace() -> None:
            if not self.is_running:
                raise RuntimeError("No profile started")
            self.is_running = False
            calls.append("stop")

        @contextmanager
        def trace(directory: str) -> Iterator[None]:
            inner["start_trace"](directory)
            try:
                yield
            finally:
                inner["stop_trace"]()

        inner.update(start_trace=start_trace, stop_trace=stop_trace, trace=trace)

    def outer(self) -> types.ModuleType:
        """`jax.profiler`, imported now."""
        outer = types.ModuleType("jax.profiler")
        outer.__dict__.update({name: vars(self.inner)[name] for name in ("start_trace", "stop_trace", "trace")})
        return outer


JAX_RECORDING = ["release to jax.profiler", "start", "stop", "reattach"]


@pytest.mark.parametrize("is_imported_first", [True, False])
def test_jax_has_cupti_from_start_to_stop(
    calls: list[str], lending: CuptiLending, replacements: Replacements, is_imported_first: bool
) -> None:
    jax = Jax(calls)
    originals = dict(vars(jax.inner))
    outer = jax.outer() if is_imported_first else None
    lending.lend(jax.inner, OF_JAX)
    outer = outer or jax.outer()
    lending.lend(outer, OF_JAX)
    with outer.trace("logs"):
        pass
    assert calls == JAX_RECORDING
    outer.start_trace("logs")
    outer.stop_trace()
    assert calls == JAX_RECORDING * 2
    replacements.restore()
    for module in (jax.inner, outer):
        assert all(vars(module)[name] is originals[name] for name in ("start_trace", "stop_trace"))


def test_errors_of_jax_leave_cupti_with_who_has_it(calls: list[str], lending: CuptiLending) -> None:
    jax = Jax(calls)
    lending.lend(jax.inner, OF_JAX)
    with pytest.raises(RuntimeError, match="No profile started"):
        jax.inner.stop_trace()
    assert calls == []
    jax.inner.start_trace("logs")
    with pytest.raises(RuntimeError, match="already been started"):
        jax.inner.start_trace("logs")
    assert calls == ["release to jax.profiler", "start"]
    jax.inner.stop_trace()
    assert calls == JAX_RECORDING
