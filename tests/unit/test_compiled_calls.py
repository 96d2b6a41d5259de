"""Calls of objects that carry an entry point of their own and come and go, here functools.partial for JAX's."""

import _heapq
import array
import functools
import gc
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rlscope
from rlscope import _analysis, _native
from rlscope.libraries.jax import intercept_made
from rlscope.libraries.torch_compile import intercept_generated
from rlscope.model import Category
from rlscope.record.declared.hooks import Hooks


def double(value: int) -> int:
    return 2 * value


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    hooks = Hooks()
    yield hooks
    hooks.restore()


def crossings(path: Path) -> dict[str, int]:
    found: dict[str, int] = vars(_analysis.sweep(str(path)))["crossings"]
    return found


def test_calls_are_crossings_and_labelled(in_process: Callable[[], Path]) -> None:
    compiled = functools.partial(double)
    assert _native.intercept_compiled(compiled, "jit(double)", Category.BACKEND)
    assert compiled(1) == 2
    _native.label_compiled(compiled, _native.default_operation("inference"))
    assert compiled(2) == 4
    with rlscope.operation("backpropagation"):  # a stage that is open stays
        assert compiled(3) == 6
    _native.label_compiled(compiled, None)
    with pytest.raises(TypeError):
        compiled()  # type: ignore[call-arg]
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["crossings"]["jit(double)"] == 4
    assert swept["misnested_operations"] == 0
    entries = {(row[0], row[1]): row[-1] for row in swept["transitions"]}
    assert entries == {
        ("(none)", "(none)"): 2,
        ("inference", "inference"): 1,
        ("backpropagation", "backpropagation"): 1,
    }


def test_an_object_without_an_entry_point_is_refused() -> None:
    assert not _native.intercept_compiled(object(), "nothing", Category.BACKEND)


def test_objects_may_die_and_others_take_their_place(in_process: Callable[[], Path]) -> None:
    for number in range(2000):
        compiled = functools.partial(double, number)
        _native.intercept_compiled(compiled, f"jit({number % 2})", Category.BACKEND)
        assert compiled() == 2 * number
        reference = weakref.ref(compiled)
        del compiled
        assert reference() is None
    found = crossings(in_process())
    assert (found["jit(0)"], found["jit(1)"]) == (1000, 1000)


def test_the_living_get_their_entry_point_back(in_process: Callable[[], Path]) -> None:
    compiled, dead = functools.partial(double), functools.partial(double)
    for made in (compiled, dead):
        _native.intercept_compiled(made, "jit(double)", Category.BACKEND)
    compiled(1)
    del dead, made
    gc.collect()
    _native.restore_all()
    assert compiled(2) == 4
    assert _native.intercept_compiled(compiled, "jit(again)", Category.BACKEND)
    assert compiled(3) == 6
    found = crossings(in_process())
    assert (found["jit(double)"], found["jit(again)"]) == (1, 1)


def test_what_is_made_is_named_and_compiling_it_is_python(hooks: Hooks, in_process: Callable[[], Path]) -> None:
    def make(name: str, function: Callable[..., int], compile: Callable[..., int]) -> Callable[..., int]:
        return functools.partial(compile)  # as if each call had to be compiled

    module = types.ModuleType("maker")
    module.__dict__.update(make=make)
    early = functools.partial(double)
    hooks.wrap(module, ("make",), lambda make: intercept_made(make, functools.partial))
    late = module.make("late", double, lambda value: 3 * value)
    assert (early(1), late(1)) == (2, 3)
    hooks.restore()
    assert module.make is make
    found = crossings(in_process())
    assert (found["jax.jit(?)"], found["jax.jit(late)"], found["jax.jit: compiling"]) == (1, 1, 1)


def test_getting_an_objects_memory_is_a_crossing(in_process: Callable[[], Path]) -> None:
    assert _native.intercept_buffers(array.array, "array.__buffer__", Category.BACKEND)
    numbers = array.array("i", [1, 2, 3])
    assert memoryview(numbers).tolist() == [1, 2, 3]
    with pytest.raises(TypeError):
        memoryview(3)  # type: ignore[arg-type]
    _native.restore_all()
    assert bytes(numbers[:1]) == numbers[:1].tobytes()
    assert crossings(in_process())["array.__buffer__"] == 1
    assert not _native.intercept_buffers(int, "int.__buffer__", Category.BACKEND)


def test_a_generated_modules_own_functions_are_crossings(in_process: Callable[[], Path]) -> None:
    generated = types.ModuleType("generated")
    generated.__dict__.update(kernel=_heapq.heappop, length=len, python=double, number=3)
    assert intercept_generated(generated) == 1
    assert generated.kernel([1]) == 1
    assert crossings(in_process())["inductor.kernel"] == 1
