"""The verb `stop` ends a window that `start` has begun; the job goes on."""

import shlex
from pathlib import Path

import click

from rlscope.cli.given.options import NamedPath
from rlscope.cli.running.patience import says_processes
from rlscope.errors import UsageError
from rlscope.monitor.windows.job import Job


@click.command()
@click.argument("directory", metavar="[DIR]", default=Path("trace"), type=NamedPath(is_trace=True))
def stop(directory: Path) -> None:
    """End the window that `rlscope start DIR` has begun. The job goes on, and can be recorded again.

    \b
    Example: rlscope stop trace
    """
    job = Job(directory)
    window = job.open_window
    if window is None:
        raise UsageError(f"no window of {directory} is being recorded; begin one with `rlscope start {directory}`")
    job.end(window, says_processes(job))
    click.echo(f"{window} is complete; look at it: rlscope analyze {shlex.quote(str(window))}")
