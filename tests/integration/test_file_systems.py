"""A trace on file systems of other kinds, with and without fallocate: a process killed at once has lost nothing."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recording import SCRIPTS, environment

from rlscope import _analysis

MOUNTED = SCRIPTS.parent / "machines" / "mounted.sh"
OPERATIONS = 100_000
NOT_MOUNTED = 99


@pytest.mark.parametrize("kind", ["tmpfs", "ramfs", "overlay", "ext2"])
def test_nothing_is_lost(kind: str, tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs the right to mount")
    script = [sys.executable, SCRIPTS / "killed_after.py", str(OPERATIONS)]
    command: list[Any] = ["unshare", "--mount", "sh", MOUNTED, kind, tmp_path, *script]
    finished = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=100)
    if finished.returncode == NOT_MOUNTED:
        pytest.skip(f"{kind} cannot be mounted: {finished.stderr}")
    assert finished.returncode == 128 + signal.SIGKILL, finished.stderr
    (file,) = (tmp_path / "trace").glob("*.rlscope")
    found = vars(_analysis.sweep(file))
    assert found["events"]["operation"] == OPERATIONS
    assert [reason for reason in found["why"] if "killed" not in reason] == []
