"""Programs that enter a user namespace, which the kernel refuses to a process of several threads."""

import sys
from pathlib import Path

import pytest
from recording import record

#: Says how many threads it has, and enters a user namespace.
ENTERS = """
import ctypes, os, sys, time
import rlscope
def threads():
    return len(os.listdir("/proc/self/task"))
def work():
    end_s = time.process_time() + 0.3
    while time.process_time() < end_s:
        with rlscope.operation("inference"):
            sum(range(1000))
work()
looked = threads()
if "fork" in sys.argv:
    if (child := os.fork()):
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    work()
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER = 0x10000000
failed = libc.unshare(CLONE_NEWUSER)
print(looked, threads(), failed and os.strerror(ctypes.get_errno()))
"""


@pytest.mark.parametrize("words", [(), ("fork",)])
@pytest.mark.parametrize("options", [(), ("--lines",)])
def test_a_program_may_enter_a_user_namespace(words: tuple[str, ...], options: tuple[str, ...], tmp_path: Path) -> None:
    without = record(tmp_path / "without", sys.executable, "-c", ENTERS, *words, options=("--no-lines",))
    if without.stdout != "1 1 0\n":
        pytest.skip(f"user namespaces are forbidden here: {without.stdout}")
    recording = record(tmp_path / "trace", sys.executable, "-c", ENTERS, *words, options=options)
    assert (recording.returncode, recording.stdout) == (0, "2 1 0\n"), recording.stderr
    assert recording.analysis["complete"]
    [said] = recording.analysis["without_stacks"]
    assert "asked for unshare" in said
    assert sum(row["stacks"] for row in recording.analysis["lines"]) > 0


def test_nobody_looks_without_lines(tmp_path: Path) -> None:
    recording = record(tmp_path / "trace", sys.executable, "-c", ENTERS, options=("--no-lines",))
    assert recording.stdout.startswith("1 1 ")
    assert "lines" not in recording.analysis
    assert recording.analysis["without_stacks"] == []
