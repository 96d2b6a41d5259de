"""Sandboxes without /proc: the command runs, what can be recorded is, and what cannot is said in one line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from recording import RLSCOPE, environment, rlscope

from rlscope.trace.reader import open_trace

#: Longer than the sampler of utilisation waits before it looks for the first time.
PROGRAM = """
import subprocess, sys, time
import rlscope
for number in range(12):
    with rlscope.operation("simulation"):
        time.sleep(0.03)
    rlscope.report_progress(timesteps=number)
subprocess.run([sys.executable, "-c", "import rlscope; rlscope.operation('child').__enter__()"], check=True)
print("done")
sys.exit(7)
"""
#: A module with a function whose entry lies in a page that may not be written, as those of many a library.
READ_ONLY = """
import ctypes, math, types
import rlscope
libc, one_page = ctypes.CDLL(None), 4096
libc.aligned_alloc.restype, libc.aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
address = libc.aligned_alloc(one_page, one_page)
entry = ctypes.c_void_p.from_address(id(math.sqrt) + 16).value  # its PyMethodDef
ctypes.memmove(address, entry, 32)
assert libc.mprotect(ctypes.c_void_p(address), one_page, 1) == 0  # PROT_READ
new = ctypes.pythonapi.PyCFunction_NewEx
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
module = types.ModuleType("tables")
module.sqrt = new(address, module, "tables")
rlscope.wrap_module(module)
print(module.sqrt(16.0))
"""


def without_proc(*words: object) -> "subprocess.CompletedProcess[str]":
    """Runs a command where an empty folder lies over /proc; a user may not take that away."""
    hidden = 'mount -t tmpfs none /proc || exit 99; exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", hidden, "sh"]
    finished = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, env=environment())
    if finished.returncode == 99 or "unshare: " in finished.stderr:
        pytest.skip(f"a user may not mount here: {finished.stderr}")
    return finished


def test_a_command_is_recorded(tmp_path: Path) -> None:
    recording = [*RLSCOPE, "record", "-o", tmp_path / "trace", "--lines", "--clock-port", "0", "--"]
    finished = without_proc(*recording, sys.executable, "-c", PROGRAM)
    assert (finished.returncode, finished.stdout) == (7, "done\n"), finished.stderr
    lines = finished.stderr.splitlines()
    assert all(line.startswith("rlscope: ") for line in lines), finished.stderr
    assert len([line for line in lines if "/proc" in line]) == 1, finished.stderr
    trace = tmp_path / "trace"
    assert [file.is_main for file in open_trace(trace).processes] == [True, False]
    analysis = json.loads(rlscope("analyze", trace, "--json").stdout)
    assert "simulation" in {row["stage"] for row in analysis["breakdown"]}
    assert len(analysis["processes"]) == 2 and len({row["machine"] for row in analysis["processes"]}) == 1


@pytest.mark.parametrize("options", [("--keep", "60s"), ("--idle",)], ids=" ".join)
def test_windows_are_refused_before_the_command_runs(options: tuple[str, ...], tmp_path: Path) -> None:
    recording = [*RLSCOPE, "record", "-o", tmp_path / "trace", *options, "--"]
    finished = without_proc(*recording, sys.executable, "-c", PROGRAM)
    assert (finished.returncode, finished.stdout) == (2, ""), finished.stderr
    assert finished.stderr.count("\n") == 1 and "windows need /proc" in finished.stderr, finished.stderr


def test_functions_in_pages_that_may_not_be_written_are_recorded(tmp_path: Path) -> None:
    recording = [*RLSCOPE, "record", "-o", tmp_path / "trace", "--"]
    finished = without_proc(*recording, sys.executable, "-c", READ_ONLY)
    assert (finished.returncode, finished.stdout) == (0, "4.0\n"), finished.stderr
    inspected = rlscope("inspect", tmp_path / "trace", "--json")
    assert "sqrt" in inspected.stdout, inspected.stdout
