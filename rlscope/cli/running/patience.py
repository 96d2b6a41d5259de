"""Verbs wait for a running job by this file, which says so where that takes long."""

import time
from collections.abc import Callable
from pathlib import Path

import click

from rlscope.errors import UsageError
from rlscope.monitor.windows import LOOK_AGAIN_S, Windows, is_begun
from rlscope.record.config import HOW_TO_REPORT, RecordConfig

PATIENCE_S = 5.0


def asked_windows(run: Path) -> Windows:
    """Return the windows of a run that are asked for by its user.

    Raises:
        UsageError: there are none, or `rlscope record --keep` or `--every` asks for them.
    """
    windows = Windows(run)
    config = RecordConfig.load(run)
    if config.every is not None:
        raise UsageError(
            f"of {run} one iteration of every {config.every} is recorded; look at it: rlscope analyze {run}"
        )
    if config.keep is not None:
        raise UsageError(
            f"{run} is recorded all the time; look at the last of its windows: rlscope analyze {run}/window-N"
        )
    return windows


def await_begin(windows: Windows, window: Path) -> None:
    """Wait until a process records; take the request back where the user does not want to wait, or the program ends.

    Raises:
        UsageError: the program has ended, and recorded nothing.
    """
    since_s = time.monotonic()
    is_said = False
    try:
        while not is_begun(window):
            if not windows.is_running():
                raise UsageError(f"the program ended before a process of it recorded anything into {window}")
            if not is_said and time.monotonic() - since_s > PATIENCE_S:
                is_said = True
                click.echo(f"rlscope: waiting for {_what(window)}; Ctrl-C takes the request back", err=True)
            time.sleep(LOOK_AGAIN_S)
    except BaseException:
        if windows.open_window == window:
            windows.give_up(window, "it began to record nothing before the request was taken back")
        raise


def _what(window: Path) -> str:
    if RecordConfig.load(window).max_iterations is not None:
        return f"the next iteration. If there are none that rlscope knows of, {HOW_TO_REPORT}"
    return "a process to begin, which it does between two lines of Python of its main thread"


def said_once() -> Callable[[list[int]], bool]:
    """Return what says, if it takes long, which processes are waited for."""
    since_s = time.monotonic()
    said: list[int] = []

    def say(pids: list[int]) -> bool:
        if not said and time.monotonic() - since_s > PATIENCE_S:
            said.extend(pids)
            names = ", ".join(map(str, pids))
            click.echo(f"rlscope: waiting for process {names}, whose main thread is inside one long call", err=True)
        return False

    return say
