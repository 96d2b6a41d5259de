"""Hooks on Python classes and functions, and on imports: put in place, told apart, and put back."""

import asyncio
import importlib
import importlib.util
import inspect
import pickle
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from rlscope import _analysis, _native
from rlscope.model import Category
from rlscope.record.declared.apply import Declarations
from rlscope.record.declared.hooks import Hooks
from rlscope.record.declared.kinds import Boundary, FunctionHook, Held, MethodHook
from rlscope.record.import_hooks import ImportHooks


class Base:
    def step(self) -> str:
        """Steps."""
        return "base"


class Derived(Base):
    def step(self) -> str:
        return "derived of " + super().step()


def helper() -> int:
    return 7


MODULE = types.ModuleType("hooked")
MODULE.__dict__.update(Base=Base, helper=helper)


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    hooks = Hooks()
    yield hooks
    hooks.restore()


def test_a_method_and_its_overrides_are_one_operation(hooks: Hooks, in_process: Callable[[], Path]) -> None:
    hooks.apply(MethodHook("hooked", "Base", "step", ("simulation", "reset")), MODULE)

    class Later(Derived):
        def step(self) -> str:
            return "later " + super().step()

    assert Later().step() == "later derived of base"
    assert Derived().step() == "derived of base"
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"]["operation"] == 4  # simulation and reset, twice
    assert swept["misnested_operations"] == 0


def test_a_hooked_method_looks_as_before(hooks: Hooks) -> None:
    original = Base.step
    hooks.apply(MethodHook("hooked", "Base", "step", ("simulation",)), MODULE)
    assert (Base.step.__name__, Base.step.__doc__, Base.step.__module__) == ("step", "Steps.", original.__module__)
    assert pickle.loads(pickle.dumps(Base.step)) is Base.step
    hooks.restore()
    assert Base.__dict__["step"] is original
    assert "__init_subclass__" not in Base.__dict__


def test_a_function_is_hooked_where_it_is_named(hooks: Hooks, in_process: Callable[[], Path]) -> None:
    hooks.apply(FunctionHook("hooked", "helper", ("update_target_network",)), MODULE)
    assert MODULE.helper() == 7
    hooks.restore()
    assert MODULE.helper is helper
    assert vars(_analysis.sweep(str(in_process())))["events"]["operation"] == 1


def test_a_function_that_comes_hooked_from_another_module_is_not_hooked_again(
    hooks: Hooks, in_process: Callable[[], Path]
) -> None:
    module = types.ModuleType("helpers")
    module.__dict__.update(helper=helper)
    hooks.apply(FunctionHook("helpers", "helper", ("evaluate",), phase="evaluation"), module)
    vars(module)["imported"] = module.helper
    hooks.apply(FunctionHook("helpers", "imported", ("evaluate",), phase="evaluation"), module)
    assert module.imported() == 7
    assert vars(_analysis.sweep(str(in_process())))["events"]["operation"] == 1
    hooks.restore()
    assert module.helper is helper


def test_a_function_in_a_phase_leaves_the_phase_that_was_open_as_it_was(
    hooks: Hooks, in_process: Callable[[], Path]
) -> None:
    def failing() -> None:
        with _native.operation("helped"):
            raise KeyError("not found")

    module = types.ModuleType("helpers")
    module.__dict__.update(failing=failing, again=failing)
    hooks.apply(FunctionHook("helpers", "failing", (), phase="evaluation"), module)
    vars(module)["again"] = module.failing  # as a module that imports it has it
    hooks.apply(FunctionHook("helpers", "again", (), phase="evaluation"), module)
    with _native.phase("training"):
        for name in ("failing", "again"):
            with pytest.raises(KeyError) as raised:
                vars(module)[name]()
            assert [entry.name for entry in raised.traceback] == [sys._getframe().f_code.co_name, "failing"]
            with _native.operation("trained"):
                pass
    with _native.operation("ended"):
        pass
    swept = vars(_analysis.sweep(str(in_process())))
    assert {row[0]: row[2] for row in swept["breakdown"] if row[2] != "(none)"} == {
        "evaluation": "helped", "training": "trained", "(none)": "ended",
    }  # fmt: skip
    assert (swept["events"]["phase"], swept["misnested_operations"]) == (3, 0)


def test_names_that_a_library_no_longer_has_are_left_out(hooks: Hooks) -> None:
    hooks.apply(MethodHook("hooked", "Gone", "step", ("simulation",)), MODULE)
    hooks.apply(MethodHook("hooked", "Base", "gone", ("simulation",)), MODULE)
    hooks.apply(FunctionHook("hooked", "gone", ("simulation",)), MODULE)


def test_notices_see_outermost_calls_only(hooks: Hooks) -> None:
    seen: list[str] = []
    hook = MethodHook(
        "hooked",
        "Base",
        "step",
        (),
        before=lambda instance: seen.append("before"),
        after=lambda instance: seen.append("after"),
    )
    hooks.apply(hook, MODULE)
    Derived().step()
    assert seen == ["before", "after"]


def test_an_init_subclass_of_the_library_still_runs(hooks: Hooks) -> None:
    class Registry:
        names: ClassVar[list[str]] = []

        def __init_subclass__(cls, **kwargs: object) -> None:
            Registry.names.append(cls.__name__)
            super().__init_subclass__()

        def step(self) -> None: ...

    module = types.ModuleType("registry")
    module.__dict__["Registry"] = Registry
    hooks.apply(MethodHook("registry", "Registry", "step", ("simulation",)), module)

    class First(Registry, marker=1): ...

    hooks.restore()

    class Second(Registry): ...

    assert Registry.names == ["First", "Second"]


@pytest.fixture
def imports() -> Iterator[ImportHooks]:
    imports = ImportHooks()
    imports.install()
    yield imports
    imports.remove()


@pytest.fixture
def module_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "imported_late.py").write_text("value = 1\nloader = __loader__\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "imported_late"
    sys.modules.pop("imported_late", None)


def test_a_callback_runs_after_the_import(imports: ImportHooks, module_on_path: str) -> None:
    seen: list[types.ModuleType] = []
    imports.after_import(module_on_path, seen.append)
    imports.after_import(module_on_path, seen.append)
    assert not seen
    module = importlib.import_module(module_on_path)
    assert seen == [module, module]
    # Nobody can see that the module was waited for.
    assert module.__spec__ is not None
    assert module.__loader__ is module.__spec__.loader is module.loader
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    imports.after_import(module_on_path, seen.append)
    assert len(seen) == 3
    imports.remove()
    assert imports not in sys.meta_path


def test_a_module_that_cannot_be_found_fails_as_usual(imports: ImportHooks) -> None:
    imports.after_import("no_such_module_anywhere", print)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        importlib.import_module("no_such_module_anywhere")


def test_a_callback_that_fails_does_not_break_the_import(
    imports: ImportHooks, module_on_path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    imports.after_import(module_on_path, lambda module: module.renamed)
    assert importlib.import_module(module_on_path).value == 1
    assert "imported_late (no version) is recorded in part only: AttributeError" in capsys.readouterr().err


def test_looking_for_a_module_does_not_use_up_its_callbacks(imports: ImportHooks, module_on_path: str) -> None:
    seen: list[types.ModuleType] = []
    imports.after_import(module_on_path, seen.append)
    assert importlib.util.find_spec(module_on_path) is not None
    module = importlib.import_module(module_on_path)
    assert seen == [module]


def test_a_callback_can_wait_for_the_module_that_it_is_called_for(imports: ImportHooks, module_on_path: str) -> None:
    seen: list[types.ModuleType] = []
    imports.after_import(module_on_path, lambda module: imports.after_import(module_on_path, seen.append))
    module = importlib.import_module(module_on_path)
    assert seen == [module]


class Runner:
    def __init__(self, env: object) -> None:
        self.env = env

    def learn(self) -> str:
        return str(self.env.step())  # type: ignore[attr-defined]


class OfNoLibrary:
    def step(self) -> str:
        return "stepped"


def test_methods_of_what_an_instance_holds_are_hooked_when_it_is_met(
    hooks: Hooks, in_process: Callable[[], Path]
) -> None:
    module = types.ModuleType("hooked")
    module.__dict__.update(Base=Base, Runner=Runner)
    plain = vars(OfNoLibrary)["step"]
    env = Held("env", (("step", ("simulation",)), ("reset", ("simulation", "reset"))))
    told: list[object] = []
    hooks.apply(MethodHook("hooked", "Base", "step", ("simulation",)), module)
    hooks.apply(MethodHook("hooked", "Runner", "learn", ("training_loop",), before=told.append, held=env), module)
    runners = [Runner(OfNoLibrary()), Runner(OfNoLibrary()), Runner(Derived())]
    assert [runner.learn() for runner in runners] == ["stepped", "stepped", "derived of base"]
    assert told == runners
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'step'"):
        Runner(None).learn()
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"]["operation"] == 4 + 3  # a training loop each, and a simulation where there is one
    hooks.restore()
    assert vars(OfNoLibrary)["step"] is plain


def test_only_the_stage_of_a_default_is_left_out_inside_of_another(
    hooks: Hooks, in_process: Callable[[], Path]
) -> None:
    hooks.apply(MethodHook("hooked", "Base", "step", ("inference", "predict_values"), is_default=True), MODULE)
    Base().step()
    with _native.operation("backpropagation"):
        Base().step()
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["events"]["operation"] == 2 + 2


def test_a_method_can_be_a_phase(hooks: Hooks, in_process: Callable[[], Path]) -> None:
    hooks.apply(MethodHook("hooked", "Base", "step", (), phase="evaluation"), MODULE)
    assert Derived().step() == "derived of base"
    swept = vars(_analysis.sweep(str(in_process())))
    assert (swept["events"]["phase"], swept["events"]["operation"]) == (1, 0)
    assert "evaluation" in {row[0] for row in swept["breakdown"]}


class Mixin:
    def popleft(self) -> object: ...


class Pool(deque[int], Mixin):
    """As EnvPool makes its classes: methods are native, and the class above that is known is Python's."""


def test_native_methods_that_subclasses_of_a_python_class_have_are_crossings(in_process: Callable[[], Path]) -> None:
    pool = Boundary(library=__name__, category=Category.SIMULATOR, inherited=(f"{__name__}.Mixin.popleft",))
    imports = ImportHooks()
    declarations = Declarations(imports, ())
    declarations.intercept(pool)
    assert Pool([1, 2]).popleft() == 1
    Mixin().popleft()
    swept = vars(_analysis.sweep(str(in_process())))
    declarations.hooks.restore()
    assert swept["crossings"] == {"collections.deque.popleft": 1}


def test_coroutine_functions_are_wrapped_where_that_is_said(hooks: Hooks, in_process: Callable[[], Path]) -> None:
    class Worker:
        async def work(self) -> str:
            await asyncio.sleep(0)
            return "worked"

        async def rest(self) -> str:
            return "rested"

    module = types.ModuleType("workers")
    vars(module)["Worker"] = Worker
    original = Worker.rest
    hooks.apply(MethodHook("workers", "Worker", "work", ("inference", "generate"), is_in_steps=True), module)
    hooks.apply(MethodHook("workers", "Worker", "rest", ("inference", "rest")), module)
    assert Worker.rest is original
    assert inspect.iscoroutinefunction(Worker.work)

    async def main() -> tuple[str, str]:
        return await asyncio.gather(Worker().work(), Worker().work())

    assert list(asyncio.run(main())) == ["worked", "worked"]
    swept = vars(_analysis.sweep(str(in_process())))
    assert {name: count for name, count, *_ in swept["tasks"]} == {"inference": 2, "generate": 2}


def test_a_method_that_is_bound_or_called_by_name_is_hooked_too(hooks: Hooks, in_process: Callable[[], Path]) -> None:
    """PyTorch's schedulers of learning rates bind an optimizer's step so."""
    hooks.apply(MethodHook("hooked", "Base", "step", ("simulation",)), MODULE)
    base = Base()
    assert vars(Base)["step"].__get__(base, Base)() == "base"
    assert Base.step.__call__(base) == "base"
    assert vars(_analysis.sweep(str(in_process())))["events"]["operation"] == 2
