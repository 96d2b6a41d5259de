"""A Python whose frames lie elsewhere than this build reads them is refused, before any is read."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="Python says where its frames are from 3.14 on")

# The interpreter says where its frames are in words of which the first is a mark. A frame's caller, code and
# instruction follow each other, at 8, 0 and 56.
CHANGE = """
import ctypes
words = (ctypes.c_uint64 * 64).in_dll(ctypes.pythonapi, "_PyRuntime")
assert bytes(words)[:8] == b"xdebugpy"
place = {place}
words[place] = {value}
import rlscope
"""
IN_A_FRAME = "[i for i in range(62) if words[i : i + 3] == [8, 0, 56]][0]"


def import_with(place: str, value: str) -> subprocess.CompletedProcess[str]:
    code = CHANGE.format(place=place, value=value)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (f"{IN_A_FRAME} + 1", "16", "expected a frame's code at 0, found it at 16"),
        (f"{IN_A_FRAME} + 2", "64", "expected a frame's instruction at 56, found it at 64"),
    ],
)
def test_an_unknown_layout_is_refused(place: str, value: str, said: str) -> None:
    finished = import_with(place, value)
    assert finished.returncode == 1
    assert said in finished.stderr.splitlines()[-1]


def test_the_known_layout_is_not_refused() -> None:
    finished = import_with(IN_A_FRAME, "8")
    assert (finished.returncode, finished.stderr) == (0, "")
