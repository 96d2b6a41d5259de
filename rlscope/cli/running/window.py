"""The verb `window` records a part of a running job: some iterations, or some seconds."""

import shlex
import time
from pathlib import Path

import click

from rlscope.cli.options import NamedPath
from rlscope.cli.running.patience import asked_windows, await_begin, said_once
from rlscope.errors import UsageError
from rlscope.monitor.windows import LOOK_AGAIN_S, has_reached_limit


@click.command()
@click.argument("directory", metavar="[DIR]", default=Path("trace"), type=NamedPath(is_trace=True))
@click.option("--iterations", type=click.IntRange(min=1), help="Whole iterations of the training loop to record.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True, max=1e9), help="Seconds to record.")
def window(directory: Path, iterations: int | None, seconds: float | None) -> None:
    """Record a part of the job that `rlscope record --idle -o DIR` has started (default: trace).

    \b
    Examples:
      rlscope window trace --iterations 20
      rlscope window trace --seconds 10
    """
    if (iterations is None) == (seconds is None):
        raise UsageError("expected either --iterations N or --seconds S, which say how long to record")
    windows = asked_windows(directory)
    trace = windows.begin(max_iterations=iterations)
    try:
        await_begin(windows, trace)
        deadline_s = time.monotonic() + seconds if seconds is not None else float("inf")
        while time.monotonic() < deadline_s and windows.is_running() and not has_reached_limit(trace):
            time.sleep(LOOK_AGAIN_S)
    finally:
        if windows.open_window == trace:  # else the program has ended, and `record` has completed the trace
            windows.end(on_waiting=said_once())
    click.echo(f"{trace} is complete; look at it: rlscope analyze {shlex.quote(str(trace))}")
