"""Of what kind a wait is: by the function that waits, as it is declared, and by its channel."""

import _io
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from calls import count_calls

from benchmarks.trace_writer import TraceWriter
from rlscope import _native
from rlscope.analysis.analysis import analyze
from rlscope.analysis.tables.wait_kinds import kind_of_wait
from rlscope.libraries import LIBRARIES
from rlscope.model import Category
from rlscope.record.blocking import COMMUNICATION, DISK, KINDS, MAY_WAIT, NETWORK, PIPE, WAITS
from rlscope.record.declared.kinds import Boundary
from rlscope.record.native_names import full_name, resolve
from rlscope.trace.reader import open_trace

DECLARED = [
    (library, kind, dotted, category)
    for category, declared in ((Category.WAIT, WAITS), (Category.PYTHON, MAY_WAIT))
    for library, by_kind in declared.items()
    for kind, functions in by_kind.items()
    for dotted in functions
]
OF_LIBRARIES = [
    (boundary, dotted)
    for file in LIBRARIES
    for boundary in vars(import_module(file)).get("BOUNDARIES", ())
    if boundary.category is Category.WAIT or boundary.waits_for
    for dotted in boundary.functions
]


@pytest.mark.parametrize(("library", "kind", "dotted", "category"), DECLARED)
def test_each_function_is_recorded_under_a_name_of_its_kind(
    library: str, kind: str, dotted: str, category: Category, in_process: Callable[[], Path]
) -> None:
    import_module(library)
    function = resolve(dotted)
    if function is None:
        pytest.skip("this version of Python has it not")
    name = full_name(dotted, function)
    assert kind in KINDS
    assert kind_of_wait(name, "") == kind
    assert _native.intercept(function, name, category)


@pytest.mark.parametrize(("boundary", "dotted"), OF_LIBRARIES)
def test_each_wait_of_a_library_has_a_kind(boundary: Boundary, dotted: str) -> None:
    assert boundary.waits_for in KINDS
    assert kind_of_wait(dotted, "") == boundary.waits_for


@pytest.mark.parametrize(
    ("channel", "kind"),
    [
        ("pipe:[7]", PIPE),
        ("socket:[7]", PIPE),
        ("tcp:127.0.0.1:5000-127.0.0.1:6000", NETWORK),
        ("udp:[fd00::1]:5000-[fd00::2]:6000", NETWORK),
        ("file", DISK),
        ("group:default 0-1", COMMUNICATION),
    ],
)
def test_a_channel_says_more_than_the_function(channel: str, kind: str) -> None:
    assert kind_of_wait("posix.read", channel) == kind


@pytest.mark.parametrize("function", ["(blocked)", "signal.sigtimedwait", "torch._C._VariableFunctions.mm"])
def test_nothing_is_said_of_a_function_of_which_nothing_is_declared(function: str) -> None:
    assert kind_of_wait(function, "") == ""


def test_a_long_write_to_a_file_is_python_that_may_wait(in_process: Callable[[], Path], tmp_path: Path) -> None:
    assert _native.intercept(vars(_io.FileIO)["write"], "_io.FileIO.write", Category.WAIT)
    with (tmp_path / "file").open("wb", buffering=0) as file:
        file.write(bytes(1 << 26))
    assert count_calls(in_process()) == {"_io.FileIO.write file": 1}


def test_files_of_two_processes_are_no_channel_between_them(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path)
    for name, function in (("main", "_io.FileIO.read"), ("worker", "_io.FileIO.write")):
        process = writer.process(pid=len(name), name=name)
        thread = process.thread()
        thread.boundary(0, 900, Category.WAIT, f"{function} file")
        process.stop(1000)
    analysis = analyze(open_trace(writer.write_complete()))
    assert {(row.process, row.stream, row.kind) for row in analysis.waits} == {
        ("main", "file", DISK),
        ("worker", "file", DISK),
    }
    assert not analysis.dependencies
    assert analysis.path is not None and analysis.path.followed == ()
    assert [wait.kind for wait in analysis.path.unfollowed] == [DISK]
