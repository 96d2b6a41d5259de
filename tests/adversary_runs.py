"""Runs verbs of rlscope on hostile input: in this process, within limits of time and memory, or as a command."""

import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from recording import RLSCOPE, call_here, environment

from benchmarks.trace_writer import TraceWriter
from rlscope.model import Category, DeviceWork
from rlscope.trace.manifest import UNRECORDED_NAME
from rlscope.trace.utilization_file import HEADER, UTILIZATION_NAME

# Before any limit: libraries take time and reserve address space when they are loaded, which no input can help.
import_module("rlscope.report.report_page")

MS = 1_000_000
MANIFEST = {"format_version": 3, "rlscope_version": "0.1.0", "complete": True, "command": ["python"], "main_pid": 41}


class TooLongError(BaseException):
    """Nothing in the program catches it."""


@contextmanager
def limits(seconds: float = 20, more_bytes: int = 1 << 30) -> Iterator[None]:
    """So long, and so much more memory than now, may the block take."""

    def too_long(number: int, frame: FrameType | None) -> None:
        raise TooLongError

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more_bytes, before[1]))
    handler = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def call(*words: object) -> "subprocess.CompletedProcess[str]":
    """What a verb does, in this process and within limits."""
    with limits():
        return call_here(*words)


def start(*words: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """The same as a command; `env` adds to the environment, None takes a variable out."""
    changed = {**environment(), **options.pop("env", {})}
    return subprocess.run(
        [*RLSCOPE, *map(str, words)],
        env={name: value for name, value in changed.items() if value is not None},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace", "timeout": 120}
        | options,
    )


def is_one_error(finished: "subprocess.CompletedProcess[str]", *statuses: int) -> bool:
    """Whether all that is said is one line that begins as errors do."""
    assert finished.returncode in (statuses or (1, 2)), (finished.returncode, finished.stderr)
    assert finished.stderr.startswith("rlscope: error: ") and finished.stderr.count("\n") == 1, finished.stderr
    return True


def small_trace(directory: Path) -> Path:
    """One process with a little of everything that a reader looks at, and the files beside it."""
    process = (writer := TraceWriter(directory)).process(pid=41)
    process.properties({"process_name": "sample", "devices": {"0": {"uuid": "GPU-1", "name": "H200"}}})
    thread = process.thread()
    thread.begin_phase(0, "training")
    thread.begin_operation(0, "training_loop")
    thread.begin_operation(1 * MS, "inference")
    thread.begin_boundary(2 * MS, Category.BACKEND, "torch.linear")
    for end in (5, 6, 9, 9):
        thread.end(end * MS)
    process.queue(0).record(DeviceWork.KERNEL, 2 * MS, 4 * MS, "gemm", process.launch_site("inference", "inference", 0))
    process.stop(10 * MS)
    trace = writer.write(MANIFEST)
    (trace / UTILIZATION_NAME).write_text(f"{HEADER}\n1,processes,1.5,100\n2,GPU-1,0.5,7\n9000000,GPU-1,0.7,\n")
    (trace / UNRECORDED_NAME).write_text("77 Python was started with -S\n")
    return trace


def on_a_disk(size: str) -> tuple[str, ...]:
    """What runs a command with a disk of its own, disk/, of which disk/trace is copied to `kept` at the end."""
    mounted = (
        f'mount -t tmpfs -o size={size} none disk || exit 99; "$@"; ended=$?; cp -r disk/trace kept 2>&-; exit $ended'
    )
    return ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, "sh")


def skip_without_disk(finished: "subprocess.CompletedProcess[str]") -> None:
    if finished.returncode == 99 or "unshare: " in finished.stderr:
        pytest.skip(f"a user may not mount a disk here: {finished.stderr}")
