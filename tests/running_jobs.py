"""Jobs that are recorded in windows while tests disturb them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
from recording import RLSCOPE, environment

from rlscope.errors import RLScopeError
from rlscope.monitor.windows.run_windows import begun_windows
from rlscope.trace.manifest import read_manifest

#: A loop that goes on until the file of its first word is there. It reports iterations, but not with the word `silent`;
#: with `worker` a child works beside it. What comes before defines `at(iteration)`.
LOOP = """
import os, sys, time
import rlscope
words = sys.argv[2:]
print("ready", flush=True)
child = os.fork() if "worker" in words else None
iteration = 0
while not os.path.exists(sys.argv[1]):
    iteration += 1
    with rlscope.operation("inference"):
        sum(range(2000))
    with rlscope.operation("backpropagation"):
        time.sleep(0.003)
    if "silent" not in words and child != 0:
        rlscope.report_progress(timesteps=iteration)
        at(iteration)
if child != 0:
    print(iteration, flush=True)
"""


@dataclass(frozen=True)
class Job:
    """A job that runs; `run` is its directory."""

    run: Path
    process: "subprocess.Popen[str]"
    stop: Path

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest of the run; empty while something else is in its place."""
        with suppress(RLScopeError):
            return read_manifest(self.run)
        return {}

    @property
    def newest(self) -> int:
        """The number of the newest window."""
        with suppress(OSError):
            return max((int(path.name[7:]) for path in begun_windows(self.run)), default=0)
        return 0

    def finish(self) -> tuple[int, str, str]:
        """The exit status, what the program printed at its end, and what rlscope said."""
        self.stop.touch()
        output, said = self.process.communicate(timeout=100)
        return self.process.returncode, output, said


@contextmanager
def running(
    directory: Path, *options: str, words: tuple[str, ...] = (), at: str = "pass", disk: str = ""
) -> Iterator[Job]:
    """Start a job.

    Args:
        directory: Where it may write.
        options: Of `rlscope record`.
        words: Of the loop.
        at: What it does behind each iteration.
        disk: Options of a disk of its own, such as size=2m, which is there as long as the job runs.
    """
    script, stop, run = directory / "loop.py", directory / "stop", directory / "run"
    script.write_text(f"def at(iteration):\n    {at}\n{LOOP}")
    inside: list[Any] = []
    if disk:
        (directory / "disk").mkdir()
        run = directory / "disk" / "run"
        mounted = f'mount -t tmpfs -o {disk} none disk || exit 99; exec "$@"'
        inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, "sh"]
    command = [*inside, *RLSCOPE, "record", *options, "-o", run, "--", sys.executable, script, stop, *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=directory
    )
    try:
        if output_of(process).readline() != "ready\n":
            pytest.skip(f"a user may not mount a disk here: {process.communicate(timeout=60)}")
        yield Job(Path(f"/proc/{process.pid}/root{run}") if disk else run, process, stop)
    finally:
        stop.touch()
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)


def output_of(process: "subprocess.Popen[str]") -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def asking(job: Job, *words: object) -> "subprocess.Popen[str]":
    """Start a command that asks the job for something."""
    return subprocess.Popen(
        [*RLSCOPE, str(words[0]), str(job.run), *map(str, words[1:])], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment(), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def is_complete(window: Path) -> bool:
    with suppress(OSError, ValueError):
        return bool(json.loads((window / "manifest.json").read_text())["complete"])
    return False


def recording_since(window: Path) -> bool:
    return window.is_dir() and any(name.endswith(".rlscope") for name in os.listdir(window))
