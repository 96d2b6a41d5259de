"""Trials that run as root or as a plain user in folders of that user's, for tests of what a trial leaves behind."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: No user of the machine's.
PLAIN_USER = 64_123
#: Starts a command in a trial, and says what came of it.
DRIVER = """
import json, os, subprocess, sys
from pathlib import Path
from rlscope.errors import RLScopeError
from rlscope.trial.isolation.isolation import Isolation
options, *command = sys.argv[1:]
try:
    with Isolation(Path(os.environ["WORKING_FOLDER"]), **json.loads(options)) as isolation:
        environment = os.environ | isolation.environment
        trial = subprocess.Popen(isolation.command(command), env=environment, stdout=subprocess.PIPE, text=True)
        said, _ = trial.communicate()
        found = {"kind": isolation.kind, "status": trial.returncode, "said": said}
        print(json.dumps(found | {"overwritten": list(map(str, isolation.overwritten()))}))
except RLScopeError as error:
    print(json.dumps({"refused": f"{type(error).__name__}: {error}"}))
"""
#: Forbids what it starts name spaces of its own, as containers do: by limits of a user name space.
FORBIDDING = (
    "unshare", "--user", "--map-root-user", "--keep-caps", "sh", "-c",
    "for what in mnt net user; do echo 0 > /proc/sys/user/max_${what}_namespaces; done; exec \"$@\"", "sh",
)  # fmt: skip


@cache
def python_of(user: int) -> str | None:
    """A Python that the user can run, and that has rlscope."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-c", "import rlscope.trial.isolation.isolation"]
        try:
            finished = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, **as_user(user))
        except PermissionError:
            continue
        if not finished.returncode:
            return python
    return None


def as_user(user: int) -> dict[str, Any]:
    """What `subprocess` needs to start something as the user."""
    return {} if user == os.geteuid() else {"user": user, "group": user, "extra_groups": []}


class Place:
    """Folders of one user: a home with a working folder in it, and one for temporary files."""

    def __init__(self, user: int, top: Path, python: str) -> None:
        self.user, self.top, self.python = user, top, python
        self.home, self.temporary = top / "home", top / "temporary"
        self.work = self.home / "a project: one, two"
        for folder in (self.home, self.temporary, self.work, self.work / "best", self.work / "runs/PPO_1/old"):
            folder.mkdir(parents=True)
        for name in ("best/best_model.zip", "runs/PPO_1/events", "runs/PPO_1/old/events", "log.txt", "notes", "data"):
            (self.work / name).write_text(f"{name} of before")
        (self.home / ".cache").write_text("of before")
        (self.work / "latest").symlink_to("runs/PPO_1")
        for path in (top, *top.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)

    def environment(self, others: Mapping[str, str] = {}) -> dict[str, str]:  # nobody changes it
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "WORKING_FOLDER": str(self.work),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": os.environ["PATH"],
            "MARK": str(self.top),
        } | dict(others)

    def start(
        self, *command: str, before: tuple[str, ...] = (), options: str = "{}", **others: Any
    ) -> subprocess.Popen[str]:
        """Start a trial of a command; `before` is what starts it."""
        words = [*before, self.python, "-c", DRIVER, options, *command]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        place = {"cwd": self.work, "env": self.environment()}
        return subprocess.Popen(words, **(pipes | place | as_user(self.user) | others))

    def run(self, *command: str, before: tuple[str, ...] = (), **options: bool) -> dict[str, Any]:
        """Run a trial of a command to its end; return what came of it, with what went to the standard error output."""
        trial = self.start(*command, before=before, options=json.dumps(options))
        said, errors = trial.communicate(timeout=120)
        assert trial.returncode == 0, errors
        return dict(json.loads(said), errors=errors)

    def left(self) -> list[Path]:
        """What has the name of the top folder where programs of all users write."""
        return [path for folder in ("/dev/shm", "/tmp") for path in Path(folder).glob(f"{self.top.name}?*")]

    def processes(self) -> list[int]:
        """All that were started from here and still run."""
        wanted, found = os.fsencode(f"MARK={self.top}"), []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    found += [int(name)] if wanted in file.read().split(b"\0") else []
            except OSError:
                continue
        return found


@contextmanager
def place_of(user: int) -> Iterator[Place]:
    """Folders of a user, on the machine's own folder for temporary files."""
    if user != os.geteuid() and os.geteuid():
        pytest.skip("only root can become another user")
    python = python_of(user)
    if python is None:
        pytest.skip(f"user {user} cannot run a Python that has rlscope")
    top = Path(tempfile.mkdtemp(prefix="trial-", dir="/tmp")).resolve()
    try:
        yield Place(user, top, python)
    finally:
        shutil.rmtree(top)


def tree(top: Path, *, folders_too: bool = True) -> dict[str, object]:
    """All that lies in a folder: kinds, rights, owners, sizes, times of changes, and what is in files."""
    found: dict[str, object] = {}
    for path in (top, *sorted(top.rglob("*"))):
        status = path.lstat()
        said: list[object] = [status.st_mode, status.st_uid, status.st_gid]
        if not path.is_dir() or path.is_symlink() or folders_too:
            said.append(status.st_mtime_ns)
        if stat.S_ISREG(status.st_mode):
            said += [status.st_size, hashlib.sha256(path.read_bytes()).hexdigest()]
        found[str(path.relative_to(top))] = said
    return found


def differences(one: dict[str, object], other: dict[str, object]) -> list[tuple[str, object, object]]:
    """What is not equal in two trees."""
    names = sorted(one.keys() | other.keys())
    return [(name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)]
