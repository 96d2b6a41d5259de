"""In-place interception: every calling convention, errors, identity, restoring."""

import _thread
import collections
import math
import pickle
import re
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rlscope import _analysis, _native
from rlscope.model import Category
from rlscope.record.declared.containers import intercept_container

# Convention -> the object whose definition is patched, the recorded name and a call that reaches it.
CONVENTIONS = {
    "O": (math.sqrt, "math.sqrt", lambda: math.sqrt(4.0), 2.0),
    "FASTCALL": (math.hypot, "math.hypot", lambda: math.hypot(3.0, 4.0), 5.0),
    "NOARGS": (dict.__dict__["copy"], "dict.copy", lambda: {1: 2}.copy(), {1: 2}),
    "VARARGS": (math.__dict__["gcd"], "math.gcd", lambda: math.gcd(12, 18), 6),
    "VARARGS|KEYWORDS": (str.__dict__["format"], "str.format", lambda: str.format("{}{a}", 1, a=2), "12"),
    "FASTCALL|KEYWORDS": (bytes.__dict__["decode"], "bytes.decode", lambda: b"ab".decode(encoding="ascii"), "ab"),
    "METHOD|FASTCALL|KEYWORDS": (
        re.Pattern.__dict__["match"],
        "re.Pattern.match",
        lambda: re.compile("b").match("ab", pos=1) is not None,
        True,
    ),
    "class method": (dict.__dict__["fromkeys"], "dict.fromkeys", lambda: dict.fromkeys([1], 2), {1: 2}),
}


def test_functions_of_cython(in_process: Callable[[], Path]) -> None:
    module = pytest.importorskip("pandas._libs.lib")
    assert type(module.is_scalar).__name__ == "cython_function_or_method"
    assert intercept_container("pandas.lib", module, Category.NATIVE, frozenset()) > 50
    assert [module.is_scalar(value) for value in (3, "text", [])] == [True, True, False]
    swept = vars(_analysis.sweep(str(in_process())))
    assert (swept["crossings"]["pandas.lib.is_scalar"], swept["events"]["native"]) == (3, 3)
    assert module.is_scalar(3)  # not recorded any more


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_every_calling_convention(convention: str, in_process: Callable[[], Path]) -> None:
    function, name, call, expected = CONVENTIONS[convention]
    assert _native.intercept(function, name, Category.BACKEND)
    results = [call() for _ in range(5)]
    path = in_process()
    assert results == [expected] * 5
    assert call() == expected  # not recorded any more
    assert vars(_analysis.sweep(str(path)))["crossings"][name] == 5


def test_errors_pass_through_and_close_their_frame(in_process: Callable[[], Path]) -> None:
    _native.intercept(math.sqrt, "math.sqrt", Category.BACKEND)
    for _ in range(3):
        with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
            math.sqrt(-1.0)
        with pytest.raises(TypeError):
            math.sqrt("x")  # type: ignore[arg-type]
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["crossings"] == {"math.sqrt": 6}
    assert swept["misnested_operations"] == 0


def test_references_taken_before_are_seen_and_keep_their_identity(in_process: Callable[[], Path]) -> None:
    before = math.sqrt
    text, kind, document = repr(before), type(before), before.__doc__
    _native.intercept(math.sqrt, "math.sqrt", Category.BACKEND)
    assert math.sqrt is before
    assert (repr(before), type(before), before.__doc__) == (text, kind, document)
    assert pickle.loads(pickle.dumps(before)) is before
    before(4.0)
    assert vars(_analysis.sweep(str(in_process())))["crossings"] == {"math.sqrt": 1}


def test_dictionaries_keyed_by_functions_are_not_disturbed(in_process: Callable[[], Path]) -> None:
    bound = b"ab".decode
    before = {math.sqrt: "sqrt", bound: "decode", time.sleep: "sleep"}
    hashes = [hash(function) for function in before]
    for function, name in (
        (math.sqrt, "math.sqrt"),
        (bytes.__dict__["decode"], "bytes.decode"),
        (time.sleep, "time.sleep"),
    ):
        _native.intercept(function, name, Category.BACKEND)
    during = {math.sqrt: "sqrt", bound: "decode", time.sleep: "sleep"}
    math.sqrt(4.0)  # the first call of a function moves its trampoline
    bound()
    time.sleep(0)
    assert [hash(function) for function in before] == hashes
    for table in (before, during):
        assert (table[math.sqrt], table[bound], table[time.sleep]) == ("sqrt", "decode", "sleep")
    assert bound == bound.__self__.decode  # type: ignore[attr-defined]
    assert math.sqrt != math.cos
    in_process()
    assert during[math.sqrt] == "sqrt"
    assert [hash(function) for function in during] == hashes


@pytest.mark.parametrize("is_passed_by", [False, True])
def test_restored_functions_are_not_recorded_and_can_be_intercepted_again(is_passed_by: bool, tmp_path: Path) -> None:
    """Also those that were passed by at the end."""
    for round_number in (1, 2, 3):
        directory = tmp_path / str(round_number)
        directory.mkdir()
        _native.start(directory)
        path = _native.trace_path()
        _native.intercept(math.sqrt, "math.sqrt", Category.BACKEND)
        for _ in range(round_number):
            math.sqrt(4.0)
        if is_passed_by:
            _native.pass_by_trampolines()
            math.sqrt(4.0)
        _native.restore_all()
        math.sqrt(4.0)
        _native.stop()
        assert vars(_analysis.sweep(path))["crossings"] == {"math.sqrt": round_number}


def test_functions_that_are_passed_by_are_not_recorded_until_they_are_again(in_process: Callable[[], Path]) -> None:
    _native.intercept(math.sqrt, "math.sqrt", Category.BACKEND)
    _native.intercept(math.cos, "math.cos", Category.BACKEND)
    known = {math.sqrt: "sqrt"}
    math.sqrt(4.0)
    _native.pass_by_trampolines()
    assert [math.sqrt(4.0), math.cos(0.0), math.cos(0.0)] == [2.0, 1.0, 1.0]  # nobody had called the second one before
    _native.pass_by_trampolines()
    assert math.cos(0.0) == 1.0
    assert known[math.sqrt] == "sqrt"
    _native.use_trampolines()
    assert [math.sqrt(4.0), math.cos(0.0)] == [2.0, 1.0]
    assert known[math.sqrt] == "sqrt"
    _native.pass_by_trampolines()
    path = in_process()
    assert vars(_analysis.sweep(str(path)))["crossings"] == {"math.sqrt": 2, "math.cos": 3}


def test_making_objects_of_a_native_type(in_process: Callable[[], Path]) -> None:
    assert _native.intercept_construction(collections.deque, "deque.__init__", Category.BACKEND)
    queue = collections.deque([1, 2], maxlen=2)
    assert (list(queue), queue.maxlen) == ([1, 2], 2)
    with pytest.raises(TypeError):
        collections.deque(1)
    crossings = vars(_analysis.sweep(str(in_process())))["crossings"]
    assert crossings["deque.__init__"] == 2


def test_python_functions_cannot_be_intercepted() -> None:
    def function() -> None: ...

    assert not _native.intercept(function, "function", Category.BACKEND)
    assert not _native.intercept(int, "int", Category.BACKEND)


def test_a_call_that_is_running_while_recording_stops(in_process: Callable[[], Path]) -> None:
    _native.intercept(time.sleep, "time.sleep", Category.WAIT)
    sleeper = threading.Thread(target=time.sleep, args=(0.3,))
    sleeper.start()
    time.sleep(0.05)
    path = in_process()
    sleeper.join()
    assert vars(_analysis.sweep(str(path)))["crossings"] == {"time.sleep": 2}


def test_threads_have_streams_of_their_own(in_process: Callable[[], Path]) -> None:
    _native.intercept(math.sqrt, "math.sqrt", Category.BACKEND)

    def work() -> None:
        for _ in range(20000):
            math.sqrt(4.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    swept = vars(_analysis.sweep(str(in_process())))
    assert swept["crossings"] == {"math.sqrt": 80000}
    assert len(swept["streams"]) == 5  # the main thread has one from the start


def test_rests_of_ended_threads_are_used_again(in_process: Callable[[], Path]) -> None:
    before = Path(_native.trace_path()).stat().st_size  # holds the names of earlier tests
    _native.intercept(math.sqrt, "math.sqrt", Category.BACKEND)
    for _ in range(50):
        thread = threading.Thread(target=math.sqrt, args=(4.0,))
        thread.start()
        thread.join()
    path = in_process()
    assert vars(_analysis.sweep(str(path)))["crossings"] == {"math.sqrt": 50}
    assert path.stat().st_size - before < 51 * 8192  # one page for each thread, not a first chunk


def test_a_lock_waits_only_when_another_thread_holds_it(in_process: Callable[[], Path]) -> None:
    lock = threading.Lock()
    for name in ("acquire", "__enter__"):
        _native.intercept(type(lock).__dict__[name], f"_thread.lock.{name}", Category.WAIT)
    with lock:
        pass
    assert lock.acquire()
    assert not lock.acquire(False)
    assert not lock.acquire(blocking=False)
    lock.release()
    with pytest.raises(ValueError, match="timeout"):
        lock.acquire(timeout=-5)
    # Not threading.Thread: starting and joining one waits at locks of its own.
    assert lock.acquire()
    _thread.start_new_thread(lambda: (time.sleep(0.05), lock.release()), ())
    with lock:
        pass
    crossings = vars(_analysis.sweep(str(in_process())))["crossings"]
    assert crossings == {"_thread.lock.__enter__": 1, "_thread.lock.acquire": 1}  # contended; and the wrong timeout


def test_reading_waits_only_on_pipes_sockets_and_terminals(in_process: Callable[[], Path], tmp_path: Path) -> None:
    import os

    (tmp_path / "file").write_bytes(b"abc")
    _native.intercept(os.read, "posix.read", Category.WAIT)
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    assert os.read(descriptor, 10) == b"abc"
    os.close(descriptor)
    reader, writer = os.pipe()
    os.write(writer, b"xyz")
    assert os.read(reader, 10) == b"xyz"
    os.close(reader)
    os.close(writer)
    with pytest.raises(OSError):
        os.read(reader, 10)
    assert vars(_analysis.sweep(str(in_process())))["crossings"] == {"posix.read": 1}


def test_select_is_a_wait(in_process: Callable[[], Path]) -> None:
    _native.intercept(select.select, "select.select", Category.WAIT)
    select.select([], [], [], 0.01)
    assert vars(_analysis.sweep(str(in_process())))["crossings"] == {"select.select": 1}
