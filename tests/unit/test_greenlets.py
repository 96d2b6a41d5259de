"""Operations of greenlets: each has its own, which are closed for the thread while another one runs."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rlscope
from rlscope import _analysis, _native
from rlscope.libraries import greenlet as library

CALL = _native.simulator_call("step")


@dataclass(eq=False)
class Greenlet:
    """What is asked of one: a thread's own has no parent."""

    parent: "Greenlet | None" = None
    dead: bool = False


class Turns:
    """Lets the greenlets of a thread take turns."""

    def __init__(self) -> None:
        self.own = self._now = Greenlet()

    def to(self, greenlet: Greenlet) -> None:
        before, self._now = self._now, greenlet
        _native.greenlet_switched("switch", (before, greenlet))


def call(times: int) -> None:
    """Calls a simulator so often."""
    for _ in range(times):
        with CALL:
            pass


def calls(path: Path, misnested: int = 0) -> dict[str, int]:
    """How often the simulator was called in each operation."""
    found: Any = _analysis.sweep(path)
    assert found.misnested_operations == misnested
    counts: Counter[str] = Counter()
    for row in found.transitions:
        counts[row.operation] += row.entries if row.to_category == "simulator" else 0
    return dict(counts)


@pytest.fixture
def turns() -> Turns:
    return Turns()


def test_operations_that_overlap_without_nesting(in_process: Callable[[], Path], turns: Turns) -> None:
    tool, learn = Greenlet(turns.own), Greenlet(turns.own)
    with rlscope.operation("all"):
        turns.to(tool)
        in_tool, in_learn = rlscope.operation("tool"), rlscope.operation("learn")
        with in_tool:
            call(1)
            turns.to(learn)
            in_learn.__enter__()
            call(2)
            turns.to(tool)
            call(4)
        tool.dead = True
        turns.to(turns.own)
        call(8)
        turns.to(learn)
        call(16)
        in_learn.__exit__(None, None, None)
        learn.dead = True
        turns.to(turns.own)
        call(32)
    call(64)
    assert calls(in_process()) == {"tool": 5, "learn": 18, "all": 40, "(none)": 64}


def test_what_a_greenlet_leaves_open_ends_with_it(in_process: Callable[[], Path], turns: Turns) -> None:
    tool = Greenlet(turns.own)
    turns.to(tool)
    rlscope.operation("tool").__enter__()
    call(1)
    tool.dead = True
    turns.to(turns.own)
    call(2)
    turns.to(Greenlet(turns.own))
    call(4)
    assert calls(in_process(), misnested=1) == {"tool": 1, "(none)": 6}


def test_each_thread_has_greenlets_of_its_own(in_process: Callable[[], Path], turns: Turns) -> None:
    def run() -> None:
        others = Turns()
        others.to(Greenlet(others.own))
        with rlscope.operation("other"):
            call(2)
            others.to(others.own)

    tool = Greenlet(turns.own)
    turns.to(tool)
    with rlscope.operation("tool"):
        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            pass
        call(1)
    counts = calls(in_process())
    assert (counts["tool"], counts["other"]) == (1, 2)


class Package:
    """The package's functions for one thread."""

    def __init__(self) -> None:
        self.tracer: library.Tracer | None = None

    def settrace(self, tracer: library.Tracer | None) -> library.Tracer | None:
        before, self.tracer = self.tracer, tracer
        return before

    def gettrace(self) -> library.Tracer | None:
        return self.tracer

    def switch(self, greenlets: tuple[Greenlet, Greenlet]) -> None:
        if self.tracer:
            self.tracer("switch", greenlets)


@pytest.mark.parametrize("is_set_before", [False, True])
def test_a_program_has_its_own_function_that_is_told(monkeypatch: pytest.MonkeyPatch, is_set_before: bool) -> None:
    told: list[Any] = []

    def own(event: str, greenlets: tuple[Any, Any]) -> None:
        told.append((event, greenlets))

    monkeypatch.setattr(library, "_thread", library._Thread())
    package = Package()
    if is_set_before:
        package.settrace(own)
    setting, getting = library._setting(package.settrace), library._getting(package.gettrace)
    if not is_set_before:
        assert getting() is None
        assert setting(own) is None
    assert getting() is own
    greenlets = Greenlet(), Greenlet()
    package.switch(greenlets)
    # Another recording begins.
    setting = library._setting(package.settrace)
    package.switch(greenlets)
    assert told == 2 * [("switch", greenlets)]
    assert getting() is own
    assert setting(None) is own
    assert package.tracer is _native.greenlet_switched
