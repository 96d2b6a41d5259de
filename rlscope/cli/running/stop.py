"""The verb `stop` ends a window that `start` has begun; the job goes on."""

import shlex
from pathlib import Path

import click

from rlscope.cli.options import NamedPath
from rlscope.cli.running.patience import asked_windows, said_once


@click.command()
@click.argument("directory", metavar="[DIR]", default=Path("trace"), type=NamedPath(is_trace=True))
def stop(directory: Path) -> None:
    """End the window that `rlscope start DIR` has begun. The job goes on, and can be recorded again.

    \b
    Example: rlscope stop trace
    """
    window = asked_windows(directory).end(on_waiting=said_once())
    click.echo(f"{window} is complete; look at it: rlscope analyze {shlex.quote(str(window))}")
