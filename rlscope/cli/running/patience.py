"""Verbs ask a running job by this file, which says what they wait for where that takes long."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from rlscope.cli.given.signals import ended_by
from rlscope.errors import RLScopeError
from rlscope.monitor.windows.job import Job, OnWaiting
from rlscope.monitor.windows.request import Request
from rlscope.record.config import HOW_TO_REPORT
from rlscope.trace.windows import read_trouble

PATIENCE_S = 5.0


@contextmanager
def window_of(job: Job, max_iterations: int | None, max_seconds: float) -> Iterator[Path]:
    """Ask for a window, and wait until a process records it; it ends where the block does not end in order.

    That is so after Ctrl-C, and where a terminal is closed or somebody ends this process.

    Raises:
        UsageError: another one is recorded, or the program has ended.
    """
    request = Request(max_iterations, max_seconds)
    what = "a process to begin, which it does between two lines of Python of its main thread"
    if max_iterations is not None:
        what = f"the next iteration. If there are none that rlscope knows of, {HOW_TO_REPORT}"
    with ended_by(signal.SIGTERM, signal.SIGHUP):
        try:
            window = job.begin(request, _says_once(job))
            job.await_begin(window, _says_once(job, f"{what}; Ctrl-C takes the request back"))
            yield window
        except (KeyboardInterrupt, SystemExit):
            job.take_back(request, says_processes(job))
            raise


def says_processes(job: Job) -> OnWaiting:
    """Return what says, once and if it takes long, which processes are waited for."""
    return _says_once(job, "process {}, whose main thread is inside one long call")


def _says_once(job: Job, what: str = "`rlscope record`, which has not taken the request yet") -> OnWaiting:
    said_s: float | None = None  # when to say it

    def say(pids: list[int]) -> None:
        nonlocal said_s
        if said_s is None:
            said_s = time.monotonic() + PATIENCE_S
        if time.monotonic() > said_s and (pids or "{}" not in what):
            trouble: list[str] = []
            with suppress(OSError, RLScopeError):
                trouble = read_trouble(job.run)
            awaited = what.format(", ".join(map(str, pids)))
            click.echo(". ".join([f"rlscope: waiting for {awaited}", *trouble]), err=True)
            said_s = float("inf")

    return say
