"""Who gave up its rights while it was recorded: what is missing of its children is known, and so is the reason."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from adversary_runs import call
from recording import RLSCOPE, environment

#: Any user but root.
OTHER = 12345
FORKS = """
import os
if os.fork() == 0:
    os.setgid({user})
    os.setuid({user})
    for _ in range({children}):
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    os._exit(0)
os.wait()
"""

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def recorded(trace: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*RLSCOPE, "record", "-o", trace, "--", *command], env=environment(), capture_output=True, text=True, timeout=60
    )


def test_a_child_that_cannot_make_a_file_is_known_to_its_parent(tmp_path: Path) -> None:
    children = 3
    finished = recorded(tmp_path / "trace", sys.executable, "-c", FORKS.format(user=OTHER, children=children))
    assert finished.returncode == 0
    inspected = json.loads(call("inspect", tmp_path / "trace", "--json").stdout)
    (parent,) = [process["pid"] for process in inspected["processes"] if process["role"] == "worker"]
    assert not inspected["complete"] and len(inspected["why"]) == 1
    assert inspected["why"][0].startswith(f"process {parent}: ")
    assert f" {children} " in inspected["why"][0] and inspected["why"][0].endswith(os.strerror(13))


def test_a_command_of_another_user_is_named_as_the_reason(tmp_path: Path) -> None:
    as_other = ("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups")
    finished = recorded(tmp_path / "trace", *as_other, "/usr/bin/env", "python3", "-c", "print('done')")
    assert finished.stdout in ("done\n", "")  # where that user may not read the Python, it does not run
    last = finished.stderr.splitlines()[-1]
    assert last.startswith("rlscope: nothing was recorded: ") and f" user {OTHER}" in last and "-o" in last
