"""Calls of objects that stand for a native function each: those of ctypes, and those that were made of Python."""

import _ctypes
import ctypes
import functools
import gc
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import rlscope
from rlscope import _analysis, _native
from rlscope.model import Category
from rlscope.record.declared.callbacks import as_callback
from rlscope.record.declared.function_names import FunctionNames

COMPARING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
NAMES = FunctionNames({"rlscope"})
LOADED_BEFORE = ctypes.CDLL("libc.so.6")


def intercept() -> None:
    assert _native.intercept_function_objects(_ctypes.CFuncPtr, "pointer", Category.NATIVE, NAMES.name_of, as_callback)


@pytest.fixture
def recorded(in_process: Callable[[], Path]) -> Iterator[Callable[[], Mapping[str, Any]]]:
    intercept()
    yield lambda: vars(_analysis.sweep(str(in_process())))


Recorded = Callable[[], Mapping[str, Any]]


def test_calls_have_the_names_of_library_and_function(recorded: Recorded) -> None:
    assert [LOADED_BEFORE.abs(-number) for number in range(3)] == [0, 1, 2]
    later = ctypes.CDLL("libc.so.6")
    assert later.abs(-7) == later["abs"](-7) == ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(("abs", later))(-7) == 7
    assert ctypes.CDLL("libm.so.6").lround(ctypes.c_double(2.6)) == 3
    with pytest.raises(ctypes.ArgumentError):
        later.abs(object())
    swept = recorded()
    assert swept["crossings"] == {"libc.abs": 7, "libm.lround": 1}
    assert swept["events"]["native"] == 8
    assert {row.category for row in swept["breakdown"]} <= {"native", "python", "no_core", "wait"}
    assert swept["misnested_operations"] == 0


def test_python_is_no_native_code(recorded: Recorded) -> None:
    assert ctypes.pythonapi.Py_IsInitialized() == 1
    assert recorded()["crossings"] == {}


def test_libraries_of_known_packages_stay_what_they_are(recorded: Recorded) -> None:
    assert ctypes.PyDLL(_native.__file__).PyInit__native is not None
    own = NAMES.name_of(None, f"{Path(rlscope.__file__).parent}/_native.so", "PyInit__native")
    assert (own, NAMES.name_of(None, "/usr/lib/libz.so.1", "crc32")) == ("", "libz.crc32")
    with _native.simulator_call("warp.step"), rlscope.operation("inside"):
        assert LOADED_BEFORE.abs(-1) == 1
        with _native.callback("callback"):
            assert LOADED_BEFORE.abs(-1) == 1
    assert recorded()["crossings"] == {"warp.step": 1, "callback": 1, "libc.abs": 1}


def test_what_native_code_calls_back_is_python(recorded: Recorded) -> None:
    asked = []

    def compare(left: Any, right: Any) -> int:
        asked.append(left[0])
        return int(left[0] - right[0])

    numbers = (ctypes.c_int * 5)(5, 2, 4, 1, 3)
    with rlscope.operation("sort"):
        LOADED_BEFORE.qsort(numbers, len(numbers), ctypes.sizeof(ctypes.c_int), COMPARING(compare))
    assert list(numbers) == [1, 2, 3, 4, 5]
    swept = recorded()
    name = f"{__name__}.{test_what_native_code_calls_back_is_python.__name__}.<locals>.compare"
    assert swept["crossings"] == {"libc.qsort": 1, name: len(asked)}
    assert swept["events"] | {"native": 1, "python": len(asked), "operation": 1} == swept["events"]


def test_what_is_no_function_of_the_program_is_not_changed(recorded: Recorded) -> None:
    address = ctypes.cast(LOADED_BEFORE.abs, ctypes.c_void_p).value
    absolute = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    assert absolute(address)(-3) == absolute(LOADED_BEFORE.abs)(-3) == 3  # type: ignore[arg-type]
    assert ctypes.cast(LOADED_BEFORE.abs, absolute)(-3) == 3
    with pytest.raises(TypeError):
        absolute("abs")  # type: ignore[call-overload]
    recorded()


def test_a_subclass_that_is_called_otherwise_stays_so(recorded: Recorded) -> None:
    class Counting(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL
        _restype_ = ctypes.c_int
        called = 0

        def __call__(self, *args: Any) -> Any:
            type(self).called += 1
            return super().__call__(*args)

    absolute = Counting(("abs", LOADED_BEFORE))
    assert absolute(-2) == 2
    assert Counting.called == 1
    assert recorded()["crossings"] == {"libc.abs": 1}


def test_everything_is_put_back(in_process: Callable[[], Path]) -> None:
    intercept()
    made_meanwhile = ctypes.CDLL("libc.so.6")
    assert made_meanwhile.abs(-1) == 1
    _native.restore_all()
    assert made_meanwhile.abs(-1) == LOADED_BEFORE.abs(-1) == ctypes.CDLL("libc.so.6").abs(-1) == 1
    intercept()
    assert ctypes.CDLL("libc.so.6").abs(-1) == made_meanwhile.abs(-1) == 1
    assert vars(_analysis.sweep(str(in_process())))["crossings"] == {"libc.abs": 3}


def test_libraries_that_are_closed_leave_nothing_behind(recorded: Recorded) -> None:
    kind = ctypes.CDLL("libc.so.6")._FuncPtr
    reference = weakref.ref(kind)
    del kind
    gc.collect()
    assert reference() is None
    recorded()


def test_threads_and_exceptions_pass_through(recorded: Recorded) -> None:
    results: list[int] = []

    def work() -> None:
        results.extend(LOADED_BEFORE.abs(-number) for number in range(100))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(results) == 3 * 4950
    assert recorded()["crossings"]["libc.abs"] == 300


def test_an_object_that_was_made_of_python_has_its_name(in_process: Callable[[], Path]) -> None:
    cached = type(functools.lru_cache(print))  # as Numba's dispatchers: its type has the slot, it the function
    assert _native.intercept_function_objects(cached, "__wrapped__", Category.NATIVE, NAMES.name_of, as_callback)

    def makes() -> Callable[[int], int]:
        @functools.lru_cache
        def double(number: int) -> int:
            return 2 * number

        return double

    assert [makes()(number) for number in range(4)] == [0, 2, 4, 6]
    swept = vars(_analysis.sweep(str(in_process())))
    name = f"{__name__}.{test_an_object_that_was_made_of_python_has_its_name.__name__}.<locals>.makes.<locals>.double"
    assert swept["crossings"][name] == 4


def test_a_type_that_calls_by_its_objects_is_refused() -> None:
    partial = functools.partial
    assert not _native.intercept_function_objects(partial, "func", Category.NATIVE, NAMES.name_of, as_callback)
